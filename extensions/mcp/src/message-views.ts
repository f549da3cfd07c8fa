import { type Component, type ExtensionAPI, shortened, type Theme } from "@bonsai-agent/extension";
import { plainText } from "./foreign-text.ts";
import { type PromptDetails, promptMessage } from "./prompts.ts";
import { type ResourceDetails, resourceMessage } from "./resources.ts";

/** Shown lines of a folded prompt. */
const MAX_FOLDED = 6;

/** Draws messages from servers in the chat: resources by their names, prompts by their command. */
export function registerMessages(bonsai: Pick<ExtensionAPI, "registerMessageRenderer">): void {
  bonsai.registerMessageRenderer<ResourceDetails>(
    resourceMessage,
    ({ content, details }, { expanded }, theme) => {
      const resources = Array.isArray(details?.resources) ? details.resources : [];
      const head = (width: number) =>
        resources.map(({ server, uri, bytes }) => {
          const size = `${Number(bytes).toLocaleString("en-US")} characters`;
          const name = shortened(plainText(`@${server}:${uri}`), Math.max(8, width - size.length - 4));
          return ` ${theme.fg("customMessageLabel", name)} ${theme.fg("dim", size)}`;
        });
      return resources.length === 0 ? undefined : component(head, expanded ? textOf(content) : "", theme);
    },
  );
  bonsai.registerMessageRenderer<PromptDetails>(
    promptMessage,
    ({ content, details }, { expanded }, theme) => {
      const command = plainText(String(details?.command ?? ""));
      const head = () => [` ${theme.fg("customMessageLabel", command)}`];
      return component(head, textOf(content), theme, expanded ? undefined : MAX_FOLDED);
    },
  );
}

function textOf(content: string | readonly { type: string; text?: string }[]): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? (block.text ?? "") : `[${block.type}]`)).join("\n");
}

/** The host cuts lines that are too wide. */
function component(
  head: (width: number) => string[],
  text: string,
  theme: Theme,
  maxLines = Number.POSITIVE_INFINITY,
): Component {
  return {
    render(width) {
      if (text === "") return head(width);
      const lines = plainText(text)
        .split("\n")
        .flatMap((line) => wrapped(line, width - 2));
      const left = lines.length - maxLines;
      return [
        ...head(width),
        ...lines.slice(0, maxLines).map((line) => ` ${theme.fg("customMessageText", line)}`),
        ...(left > 0 ? [theme.fg("dim", ` … ${left} more lines`)] : []),
      ];
    },
  };
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function lettersOf(word: string): string[] {
  if (/^[\x20-\x7e]*$/.test(word)) return word.split("");
  return [...graphemes.segment(word)].map(({ segment }) => segment);
}

/** Lines of at most this many columns, broken after blanks if possible. */
function wrapped(text: string, columns: number): string[] {
  const lines = [""];
  let used = 0;
  for (const word of text.split(/(?<= )/)) {
    const letters = lettersOf(word).map((letter) => ({ letter, width: wide.test(letter) ? 2 : 1 }));
    const width = letters.reduce((sum, each) => sum + each.width, 0);
    if (used > 0 && used + width > columns) used = columns;
    for (const { letter, width } of letters) {
      if (used + width > columns) {
        if (letter === " ") continue;
        lines.push("");
        used = 0;
      }
      lines[lines.length - 1] += letter;
      used += width;
    }
  }
  return lines;
}
