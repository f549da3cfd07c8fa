import fc from "fast-check";

const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint));

/** Texts of any characters. The `unit: "binary"` of fast-check takes each process two seconds to build. */
export function anyText(bounds: { maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...bounds, unit: character });
}
