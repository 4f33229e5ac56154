// Debian's kernel headers leave the DRM interface to libdrm, but <linux/kfd_ioctl.h> still asks for
// it here.
#include <libdrm/drm.h>
