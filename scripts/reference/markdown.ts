/** First line of every generated page. */
export const GENERATED = "<!-- Generated from the code by `pnpm docs:reference`. Do not edit. -->";

/** A generated page: title, opening sentences, then its parts. */
export function page(title: string, intro: string, parts: readonly string[]): string {
  return `${[GENERATED, `# ${title}`, intro, ...parts].filter((part) => part !== "").join("\n\n")}\n`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map((row) => line(row.map(cell)))].join("\n");
}

/** A text in one table cell. */
function cell(text: string): string {
  return text.replaceAll("\n", " ").replaceAll(/(?<!\\)\|/g, "\\|");
}

export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** Plain text with the characters escaped that Markdown would read as HTML. */
export function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : part.replaceAll("<", "&lt;")))
    .join("");
}

/** A sentence with a capital letter and a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim().replaceAll(/\s*\n\s*/g, " ");
  if (trimmed === "") return "";
  return `${trimmed[0]!.toUpperCase()}${trimmed.slice(1)}${/[.!?:)]$/.test(trimmed) ? "" : "."}`;
}
