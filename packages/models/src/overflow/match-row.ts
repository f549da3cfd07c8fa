import { type OverflowRow, overflowRows, type RowNumber } from "./overflow-rows.ts";

/** A row whose words stand in a text, and the numbers between them. */
export interface RowMatch {
  row: OverflowRow;
  numbers: Partial<Record<RowNumber, number>>;
}

export interface MatchRowOptions {
  /** What the provider said, in the order in which it is to be read; see `errorTexts`. */
  text: string;
  provider: string;
  /** The rows that hold only where nothing else is named, or the others. */
  vague: boolean;
}

/** The first row of the table that speaks of this text. */
export function matchRow({ text, provider, vague }: MatchRowOptions): RowMatch | undefined {
  const plain = plainText(text);
  const name = provider.toLowerCase();
  for (const { row, patterns } of compiledRows()) {
    if ((row.isVague ?? false) !== vague) continue;
    if (row.provider !== undefined && !row.provider.test(name)) continue;
    for (const pattern of patterns) {
      const match = pattern.exec(plain);
      if (match !== null) return { row, numbers: numbersOf(match.groups) };
    }
  }
  return undefined;
}

interface CompiledRow {
  row: OverflowRow;
  patterns: readonly RegExp[];
}

let compiled: readonly CompiledRow[] | undefined;

/** Most sessions never see a refusal: the patterns are made when the first one comes. */
function compiledRows(): readonly CompiledRow[] {
  compiled ??= overflowRows.map((row) => ({ row, patterns: row.words.map(patternOf) }));
  return compiled;
}

/** Lower case, without quotes, backticks (`tool_use` is written with and without them) and addresses, spaces made one. */
function plainText(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[`'"‘’“”]/g, "")
    .replaceAll(/https?:\/\/\S+/g, "")
    .replaceAll(/\s+/g, " ");
}

const NUMBER = "\\d{1,3}(?:[,._\\u00a0 ]\\d{3})+(?!\\d)|\\d+";

function patternOf(words: string): RegExp {
  const source = words
    .split(/(\{\w+\}|…|^\^)/)
    .map((part) => {
      if (part === "^") return "^\\s*";
      if (part === "…") return ".{0,200}?";
      // A word of its own, so that "quotation" is none; an underscore may stand before it.
      if (part === "{quota}") return "(?<![a-z])quotas?(?![a-z])";
      if (/^\{\w+\}$/.test(part)) return `(?<${part.slice(1, -1)}>${NUMBER})`;
      return plainText(part).replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    })
    .join("");
  return new RegExp(source);
}

function numbersOf(groups: Record<string, string> | undefined): RowMatch["numbers"] {
  const numbers: RowMatch["numbers"] = {};
  for (const [name, text] of Object.entries(groups ?? {})) {
    const value = Number(text.replaceAll(/\D/g, ""));
    if (Number.isSafeInteger(value)) numbers[name as RowNumber] = value;
  }
  return numbers;
}
