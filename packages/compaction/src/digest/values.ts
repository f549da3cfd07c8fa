import { fold } from "./fold.ts";
import { stopwords } from "./language.ts";
import type { Language } from "./lexicon/lexicons.ts";

export type ValueType =
  | "code"
  | "url"
  | "path"
  | "colour"
  | "version"
  | "number"
  | "hash"
  | "identifier"
  | "flag"
  | "quote"
  | "name";

/** A token that stands for something: a path, a port, a colour, a name. */
export interface Value {
  type: ValueType;
  /** As written, without quotes. */
  text: string;
  /** As compared. */
  key: string;
}

const EXTENSION =
  "(?:ts|tsx|mts|cts|js|jsx|mjs|cjs|json|jsonc|jsonl|md|mdx|py|rs|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|bash|zsh|sql|css|scss|html|htm|vue|svelte|yml|yaml|toml|ini|cfg|conf|env|lock|txt|csv|xml|proto|tf|gradle|ex|exs|erl|hs|lua|dart|ipynb|log|svg|graphql|prisma|service|pem|crt|key|plist|dockerfile)";
const VALUE = new RegExp(
  [
    "`(?<code>[^`\\n]{1,100})`",
    "(?<url>[a-z][a-z0-9+.-]{1,12}://[^\\s\"'<>`，。）)」]+)",
    "(?<mail>[\\w.+-]+@[\\w-]+\\.[\\w.-]*\\w)",
    "(?<colour>#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?(?![\\w])|#[0-9a-fA-F]{3}(?![\\w]))",
    "(?<ticket>#\\d{2,7}(?!\\w)|(?<![\\w])[A-Z][A-Z0-9]{0,9}-\\d{1,7}(?!\\w))",
    `(?<path>(?:~|\\.{1,2}|@?[\\w.-]+)?(?:/[\\w.@+\\[\\]-]+)+/?|(?<![\\w/])[\\w.-]*\\w\\.${EXTENSION}(?![\\w/]))`,
    "(?<flag>(?<![\\w-])--[a-z][\\w-]+(?:=\\S+)?)",
    "(?<host>(?<![\\w.])(?:[a-z0-9-]+\\.){1,5}[a-z]{2,12}(?::\\d{2,5})|(?<![\\w.])(?:\\d{1,3}\\.){3}\\d{1,3}(?::\\d{2,5})?|(?<![\\w.])[a-z][\\w-]*:\\d{2,5}(?!\\w))",
    "(?<version>(?<![\\w.])v?\\d+\\.\\d+(?:\\.\\d+)*(?:-[\\w.]+)?(?![\\w]))",
    "(?<hash>(?<![\\w])(?=[0-9a-f]*\\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![\\w]))",
    "(?<hex>(?<![\\w])0x[0-9a-fA-F]+|(?<![\\w])(?=[0-9a-fA-F]*[a-fA-F])(?=[0-9a-fA-F]*\\d)[0-9a-fA-F]{6}(?![\\w]))",
    "(?<number>(?<![\\w.])\\d[\\d.,_]*\\d(?:\\s?(?:ms|s|sec|min|h|kb|mb|gb|tb|kib|mib|gib|px|rem|em|fps|rpm|rps|req\\/s|%|°)(?!\\w))?|(?<![\\w.])\\d+\\s?(?:ms|s|kb|mb|gb|px|%|x|k|m)(?!\\w)|(?<![\\w.])\\d(?![\\w.,]\\d))",
    "(?<identifier>(?<![\\w])(?:[a-z]+\\d*(?:[A-Z][a-z0-9]*)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|\\w+_\\w+|[A-Za-z][\\w]*(?:\\.[A-Za-z_]\\w*)+(?:\\(\\))?|\\w+\\(\\)|[a-z]+(?:-[a-z0-9]+)*-?\\d+[a-z]?|[a-z]+\\d+\\w*|[a-z0-9]+(?:-[a-z0-9]+)+|@[\\w-]+)(?![\\w]))",
    "(?<quote>\"[^\"\\n]{1,40}\"|“[^”\\n]{1,40}”|«[^»\\n]{1,40}»|「[^」\\n]{1,40}」|『[^』\\n]{1,40}』|(?<![\\w])'[^'\\n]{1,40}'(?![\\w]))",
    "(?<name>(?<![\\w])\\p{Lu}[\\p{L}\\d]+(?:[.+#-]?\\p{L}*)*(?![\\w]))",
    "(?<latin>(?<=[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Cyrillic} 、，。])[A-Za-z][A-Za-z0-9.+#-]*(?=[\\s\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}、，。]))",
  ].join("|"),
  "gu",
);

const TYPES: Record<string, ValueType> = {
  code: "code",
  url: "url",
  mail: "identifier",
  colour: "colour",
  ticket: "identifier",
  path: "path",
  flag: "flag",
  host: "url",
  version: "version",
  hash: "hash",
  hex: "colour",
  number: "number",
  identifier: "identifier",
  quote: "quote",
  name: "name",
  latin: "name",
};

/** The values of a sentence, in order, each once. A capital that only opens the sentence makes no name. */
export function valuesOf(text: string, language: Language): Value[] {
  const found = new Map<string, Value>();
  for (const match of text.matchAll(VALUE)) {
    const value = readValue(match, text, language);
    if (value !== undefined && !found.has(value.key)) found.set(value.key, value);
  }
  return [...found.values()];
}

function readValue(match: RegExpMatchArray, text: string, language: Language): Value | undefined {
  for (const group in match.groups) {
    const written = match.groups[group];
    if (written === undefined) continue;
    const type = TYPES[group]!;
    const cleaned = written.replace(/^["“«「『']|["”»」』']$/g, "").replace(/[.,;:]+$/, "");
    if (group === "latin" && !hasForeignScript(text)) return undefined;
    if (type === "name" && group === "name" && !isName(cleaned, match.index ?? 0, text, language))
      return undefined;
    // "Chart.js" is a library, "chart.js" a file.
    if (type === "path" && /^\p{Lu}\w*\.js$/u.test(cleaned))
      return { type: "name", text: cleaned, key: valueKey(cleaned) };
    if (/^v\d+(?:\.\d+)*$/i.test(cleaned)) return { type: "version", text: cleaned, key: valueKey(cleaned) };
    return { type: type === "code" ? codeType(cleaned) : type, text: cleaned, key: valueKey(cleaned) };
  }
  return undefined;
}

/** What a code span holds, by its shape. */
function codeType(text: string): ValueType {
  if (/^[\w.@~-]*(\/[\w.@-]+)+\/?$/.test(text)) return "path";
  if (/^#[0-9a-f]{3,8}$/i.test(text)) return "colour";
  if (/^\d[\d.,_]*\s?\w{0,3}$/.test(text)) return "number";
  if (/^v?\d+\.\d+/.test(text)) return "version";
  return "code";
}

function hasForeignScript(text: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Cyrillic}]/u.test(
    text,
  );
}

/** German writes every noun with a capital, so there only a capital inside or all capitals make a name. */
function isName(text: string, at: number, sentence: string, language: Language): boolean {
  if (/^\p{Lu}[\p{Lu}\d]+$/u.test(text)) return !isShouting(text, sentence);
  if (stopwords(language).has(fold(text))) return false;
  if (language === "de") return /\p{Lu}.*\p{Lu}|\d/u.test(text);
  return !/^["'(\s]*$/.test(sentence.slice(0, at)) && !/[.!?:]["')]*\s+$/.test(sentence.slice(0, at));
}

function isShouting(text: string, sentence: string): boolean {
  return (
    /^(NEVER|ALWAYS|MUST|NOT|ONLY|DO|DONT|NO|ALL|ANY|PLEASE|STOP|AND|OR|IS|ARE|THE|WTF|OMG)$/.test(text) ||
    sentence === sentence.toUpperCase()
  );
}

export function valueKey(text: string): string {
  return fold(text)
    .replace(/[_,](?=\d{3}\b)/g, "")
    .replace(/^['"#]+|['"]+$/g, "");
}

/** Whether one value can take the other's place: 8080 that of 3000, never that of a path. */
export function comparable(a: ValueType, b: ValueType): boolean {
  return family(a) === family(b);
}

const FAMILY: Partial<Record<ValueType, string>> = {
  number: "number",
  version: "number",
  colour: "colour",
  hash: "colour",
  url: "place",
  path: "place",
};

function family(type: ValueType): string {
  return FAMILY[type] ?? "name";
}
