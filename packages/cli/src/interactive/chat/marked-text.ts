/** A text whose first line has a mark before it, and whose others stand below. */
export function markedText(mark: string, text: string): string {
  return text
    .split("\n")
    .map((line, at) => `${at === 0 ? mark : " "} ${line}`)
    .join("\n");
}
