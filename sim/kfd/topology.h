// What sysfs says about the cards: KFD topology, PCI and DRM nodes.
#pragma once

#include "kfd/cards.h"
#include "kfd/virtual_files.h"

namespace fade::sim::kfd {

constexpr uint32_t first_render_minor = 128;

// Never 0, which means "no GPU" to the runtime; different for each card of a list.
uint32_t gpu_id(size_t index);
uint32_t render_minor(size_t index);
// PCI location: bus, device, function. Partitions of a card are functions of one device.
uint32_t location_id(const Card &card);

// Where the system has the second of two sockets.
constexpr const char *second_socket = "/sys/devices/system/node/node1";

struct HostMachine {
  uint32_t cores;
  uint64_t memory_bytes;
  uint32_t sockets = 1; // or two; each is a node before those of the cards
};
HostMachine this_machine();

VirtualFiles describe(const std::vector<Card> &cards, const HostMachine &host);

} // namespace fade::sim::kfd
