/**
 * Text as cues are looked up in it: lower case, accents off (Latin and Cyrillic marks only: a Japanese voicing mark
 * changes the word), typographic quotes plain, white space single.
 */
export function fold(text: string): string {
  const plain = /^[\x20-\x7e]*$/.test(text)
    ? text
    : text
        .normalize("NFD")
        .replace(/[\u0300-\u036f]/g, "")
        .normalize("NFC")
        .replace(/[‘’ʼ´]/g, "'")
        .replace(/[“”„]/g, '"')
        .replace(/ß/g, "ss");
  return plain.toLowerCase().replace(/\s+/g, " ").trim();
}
