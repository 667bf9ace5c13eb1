//===- TokenizerTrainer.h - learning a tokenizer from text ------*- C++ -*-===//
//
// Byte-pair encoding as LLaMA's tokenizer has it: no normalization, digits split, unknown characters as bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_DATA_TOKENIZERTRAINER_H
#define SMET_RUNTIME_DATA_TOKENIZERTRAINER_H

#include "runtime/data/Text.h"

namespace smet::rt {

/// Trains a SentencePiece BPE model of exactly `vocabSize` pieces and writes it to `out` atomically. Ids: 0 unknown,
/// 1 bos, 2 eos, 3 to 258 the bytes, then the merges and the characters. Same text, same file, byte for byte. Of more
/// than 256 MiB of text, every n-th line is used. A vocabulary too small for the text's characters or too large for
/// its merges is an error that says how large it may be.
///
/// Without `byteFallback` there are no byte pieces: every character of the text and the line break is a piece of its
/// own, and other characters decode as unknown. For small vocabularies, of which 256 bytes would take a large part.
Status trainTokenizer(const TextFiles &text, int32_t vocabSize, const std::filesystem::path &out,
                      bool byteFallback = true);

} // namespace smet::rt

#endif // SMET_RUNTIME_DATA_TOKENIZERTRAINER_H
