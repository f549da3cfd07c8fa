import type { Component, ExtensionAPI, Theme } from "@bonsai-agent/extension";
import { fitted, wrapped } from "./drawn-columns.ts";
import { plainText } from "./foreign-text.ts";
import { type PromptDetails, promptMessage } from "./prompts.ts";
import { type ResourceDetails, resourceMessage } from "./resources.ts";

/** Lines of a prompt that are shown folded. */
const MAX_FOLDED = 6;

/** How what servers put into the conversation looks in the chat: resources by their names, prompts by their command. */
export function registerMessages(bonsai: Pick<ExtensionAPI, "registerMessageRenderer">): void {
  bonsai.registerMessageRenderer<ResourceDetails>(
    resourceMessage,
    ({ content, details }, { expanded }, theme) => {
      const resources = Array.isArray(details?.resources) ? details.resources : [];
      const names = resources.map(({ server, uri, bytes }) => ({
        name: plainText(`@${server}:${uri}`),
        size: `${Number(bytes).toLocaleString("en-US")} characters`,
      }));
      const head = (width: number) =>
        names.map(({ name, size }) => {
          const room = Math.max(8, width - size.length - 4);
          return ` ${theme.fg("customMessageLabel", fitted(name, room))} ${theme.fg("dim", size)}`;
        });
      return names.length === 0 ? undefined : component(head, expanded ? textOf(content) : "", theme);
    },
  );
  bonsai.registerMessageRenderer<PromptDetails>(
    promptMessage,
    ({ content, details }, { expanded }, theme) => {
      const command = plainText(String(details?.command ?? ""));
      const head = (width: number) => [` ${theme.fg("customMessageLabel", fitted(command, width - 2))}`];
      return component(head, textOf(content), theme, expanded ? undefined : MAX_FOLDED);
    },
  );
}

function textOf(content: string | readonly { type: string; text?: string }[]): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? (block.text ?? "") : `[${block.type}]`)).join("\n");
}

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
