//===- Shapes.cpp - verifying the shapes of an op's arrays ----------------===//
#include "smet/Interfaces/Shapes.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace smet;

namespace {

std::string sizeText(int64_t size) { return ShapedType::isDynamic(size) ? "?" : llvm::itostr(size); }

std::string bracketed(ArrayRef<std::string> sizes) { return "[" + llvm::join(sizes, ", ") + "]"; }

/// What a letter counts, for messages.
StringRef noun(char letter) {
  switch (letter) {
  case 'T':
  case 'U':
    return "tokens";
  case 'F':
  case 'K':
  case 'N':
  case 'Q':
  case 'P':
    return "features";
  case 'V':
    return "vocabulary";
  case 'S':
    return "slots";
  default:
    return "size";
  }
}

bool known(int64_t size) { return !ShapedType::isDynamic(size); }

/// Whether tiles x lanes is the packed form of so many tokens.
bool holds(int64_t tiles, int64_t lanes, int64_t tokens) { return tokens / lanes + (tokens % lanes != 0) == tiles; }

int64_t lookup(const auto &map, char letter) {
  auto it = map.find(letter);
  return it == map.end() ? ShapedType::kDynamic : it->second.value;
}

} // namespace

std::string smet::shapeText(ShapedType type) { return bracketed(llvm::map_to_vector(type.getShape(), sizeText)); }

std::optional<int64_t> smet::bytesOf(ShapedType type) {
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  std::optional<int64_t> bytes = llvm::PowerOf2Ceil(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  for (int64_t size : type.getShape())
    bytes = bytes ? llvm::checkedMul(*bytes, size) : bytes;
  return bytes;
}

LogicalResult smet::verifyNotMixed(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  auto isMemRef = [](Type type) { return isa<BaseMemRefType>(type); };
  if (llvm::any_of(op->getOperandTypes(), isTensor) && llvm::any_of(op->getOperandTypes(), isMemRef))
    return op->emitOpError("mixes tensors and memrefs; all arrays must be one or the other");
  return success();
}

LogicalResult smet::verifyPositive(Operation *op, StringRef attribute, int64_t value) {
  if (value > 0)
    return success();
  return op->emitOpError() << attribute << " must be positive, got " << value;
}

void ShapeVerifier::bind(char letter, int64_t size, const Twine &origin) { sizes[letter] = {size, origin.str()}; }

int64_t ShapeVerifier::size(char letter) const { return lookup(sizes, letter); }

LogicalResult ShapeVerifier::mismatch(StringRef name, ShapedType type, StringRef expected, StringRef origin) {
  auto diagnostic = op->emitOpError() << name << " has shape " << shapeText(type) << ", expected " << expected;
  if (!origin.empty())
    diagnostic << ", " << origin;
  return diagnostic;
}

/// The sizes that are known, the letters of the others.
std::string ShapeVerifier::describe(StringRef letters) const {
  SmallVector<std::string> parts;
  for (char letter : letters) {
    int64_t size = this->size(letter);
    parts.push_back(letter == '*' ? "..." : known(size) ? sizeText(size) : std::string(1, letter));
  }
  return bracketed(parts);
}

std::string ShapeVerifier::describePacked(StringRef letters) const {
  int64_t count = lookup(tiles, letters[0]), width = lookup(lanes, letters[0]), features = size(letters[1]);
  return bracketed({known(count) ? sizeText(count) : "ceil(" + std::string(1, letters[0]) + " / L)",
                    known(features) ? sizeText(features) : std::string(1, letters[1]),
                    known(width) ? sizeText(width) : "L"});
}

/// Whether a letter may have this size; fixes it where it is not known yet.
bool ShapeVerifier::agrees(char letter, int64_t size, StringRef name, ShapedType type) {
  if (!known(size))
    return true;
  auto [it, isNew] = sizes.try_emplace(letter);
  if (isNew || !known(it->second.value))
    it->second = {size, (Twine("the ") + noun(letter) + " of " + name + " (" + shapeText(type) + ")").str()};
  return it->second.value == size;
}

LogicalResult ShapeVerifier::array(StringRef name, Value value, StringRef letters) {
  auto type = cast<ShapedType>(value.getType());
  bool open = letters.ends_with("*");
  size_t rank = letters.size() - open;
  if (open ? type.getRank() < static_cast<int64_t>(rank) : type.getRank() != static_cast<int64_t>(rank))
    return mismatch(name, type, describe(letters));
  for (size_t i = 0; i < rank; ++i)
    if (!agrees(letters[i], type.getDimSize(i), name, type))
      return mismatch(name, type, describe(letters), sizes[letters[i]].origin);
  for (char letter : letters.take_front(rank))
    if (failed(checkTiles(name, type, letter)))
      return failure();
  return success();
}

LogicalResult ShapeVerifier::packed(StringRef name, Value value, StringRef letters) {
  auto type = cast<ShapedType>(value.getType());
  if (type.getRank() != 3)
    return mismatch(name, type, describePacked(letters), "packed token tiles");
  if (type.getDimSize(2) == 0)
    return op->emitOpError() << name << " has shape " << shapeText(type) << ", expected token tiles of at least 1 lane";
  if (!agrees(letters[1], type.getDimSize(1), name, type))
    return mismatch(name, type, describePacked(letters), sizes[letters[1]].origin);
  for (auto [map, i] : {std::pair(&tiles, 0), std::pair(&lanes, 2)}) {
    int64_t size = type.getDimSize(i);
    auto [it, isNew] = map->try_emplace(letters[0]);
    if (isNew || !known(it->second.value))
      it->second = {size, ("the layout of " + name + " (" + shapeText(type) + ")").str()};
    if (known(size) && it->second.value != size)
      return mismatch(name, type, describePacked(letters), it->second.origin);
  }
  return checkTiles(name, type, letters[0]);
}

/// Tokens counted by a flat array or an attribute against the tiles of a packed one.
LogicalResult ShapeVerifier::checkTiles(StringRef name, ShapedType type, char letter) {
  int64_t count = lookup(tiles, letter), width = lookup(lanes, letter), tokens = size(letter);
  if (!known(count) || !known(width) || !known(tokens) || holds(count, width, tokens))
    return success();
  std::string origin = tiles[letter].origin;
  if (sizes[letter].origin.find(("of " + name + " (").str()) == std::string::npos)
    origin = sizes[letter].origin;
  return op->emitOpError() << name << " has shape " << shapeText(type) << ", but " << count << " tiles of " << width
                           << " lanes do not hold " << tokens << " tokens, " << origin;
}

LogicalResult ShapeVerifier::tokens(StringRef name, Value value, StringRef letters) {
  auto type = cast<ShapedType>(value.getType());
  if (type.getRank() != 2 && type.getRank() != 3)
    return mismatch(name, type, describe(letters) + " or packed " + describePacked(letters));
  if (!layout.type)
    layout = {name.str(), type};
  if (layout.type.getRank() != type.getRank())
    return op->emitOpError() << name << " has shape " << shapeText(type) << ", another layout than " << layout.name
                             << " (" << shapeText(layout.type)
                             << "): activations of one op are all [T, F] or all packed";
  return type.getRank() == 2 ? array(name, value, letters) : packed(name, value, letters);
}

LogicalResult ShapeVerifier::sameShape(StringRef name, Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (!first.type)
    first = {name.str(), type};
  if (succeeded(verifyCompatibleShape(first.type, type)))
    return success();
  return mismatch(name, type, shapeText(first.type), ("the shape of " + first.name));
}

LogicalResult ShapeVerifier::sameFloat(StringRef name, Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (!isa<FloatType>(type.getElementType()))
    return success();
  if (!firstFloat.type)
    firstFloat = {name.str(), type};
  auto computed = [](ShapedType array) {
    Type element = array.getElementType();
    return element.isBF16() ? Float32Type::get(element.getContext()) : element;
  };
  if (computed(firstFloat.type) == computed(type))
    return success();
  return op->emitOpError() << name << " has element type " << type.getElementType() << ", expected "
                           << firstFloat.type.getElementType() << ", the element type of " << firstFloat.name;
}

LogicalResult ShapeVerifier::wholeSequences(char letter, int64_t length) {
  if (failed(verifyPositive(op, "seq_len", length)))
    return failure();
  int64_t tokens = size(letter), count = lookup(tiles, letter), width = lookup(lanes, letter);
  if (known(tokens)) {
    if (tokens % length)
      return op->emitOpError() << "seq_len = " << length << " does not divide " << tokens << ", "
                               << sizes[letter].origin;
    return success();
  }
  // Packed: some multiple of the length must fill exactly these tiles.
  if (!known(count) || !known(width) || count > std::numeric_limits<int64_t>::max() / width)
    return success();
  if (holds(count, width, count * width / length * length))
    return success();
  return op->emitOpError() << "no number of sequences of seq_len = " << length << " fills " << count << " tiles of "
                           << width << " tokens, " << tiles[letter].origin;
}
