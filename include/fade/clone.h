/* How an instrumented kernel is found and called. Depends on nothing.
 *
 * The instrumented twin of the kernel with the symbol K has, in the same code object, the symbol
 * FADE_CLONE_PREFIX K, and its kernel descriptor the symbol FADE_CLONE_PREFIX K ".kd". In
 * mode=replace there is no twin: the instrumented kernel is called K itself, and the kernels of the
 * site table say so (FADE_KERNEL_REPLACES).
 *
 * THE KERNEL-ARGUMENT RULE. A clone takes the arguments of its kernel and behind them one more, the
 * address of a fade_control (message.h): 8 bytes, aligned to 8. The hidden arguments follow. With
 *
 *     E = largest offset + size among those arguments in the original's metadata whose .value_kind
 *         does not start with "hidden_", or 0 if there are none
 *     H = E rounded up to 8
 *
 * the clone's block is made from the original's like this:
 *
 *     clone[0, H)     = original[0, H), as far as the original reaches, then zeros
 *     clone[H, H + 8) = address of the fade_control
 *     clone[H + 8 ..) = original[H ..): the hidden arguments, moved by 8
 *
 * Its size is the one in the clone's metadata. A hidden argument that the clone has and the
 * original lacks must be made from the dispatch packet. In the clone's metadata the address is the
 * last argument that is not hidden; it has the name FADE_CONTROL_ARGUMENT only if the compiler
 * keeps names.
 *
 * A twin that was made from the machine code of its kernel (FADE_KERNEL_KEEPS_ARGUMENTS in sites.h)
 * reads all arguments, the hidden ones as well, where the original does. The code object has no
 * metadata for it. With S = size of the original's block rounded up to 8:
 *
 *     clone[0, S)     = original[0, S), as far as the original reaches, then zeros
 *     clone[S, S + 8) = address of the fade_control
 *
 * In PTX the kernel FADE_CLONE_PREFIX K has the parameters of K and behind them the address.
 *
 * The address may be null: the clone then records nothing. Not so for a clone without a stream
 * (FADE_KERNEL_NO_STREAM in sites.h), which reads fade_control.copies when it ends. */
#ifndef FADE_CLONE_H
#define FADE_CLONE_H

#define FADE_CLONE_PREFIX "__fade_"
#define FADE_CONTROL_ARGUMENT "__fade_control"

/* Offset of the fade_control argument for a kernel whose explicit arguments end at explicit_end. */
#define FADE_CONTROL_OFFSET(explicit_end) (((explicit_end) + 7u) & ~7u)

#endif
