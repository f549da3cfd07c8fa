import type { Theme as ExtensionTheme } from "@bonsai-agent/extension";
import type { ThemeBg, ThemeColor } from "@bonsai-agent/extension/host";
import type { StyleName, Theme } from "../terminal/theme.ts";

const plain = undefined;

const colors: Readonly<Record<ThemeColor, StyleName | undefined>> = {
  accent: "accent",
  border: "border",
  borderAccent: "accent",
  borderMuted: "border",
  success: "success",
  error: "error",
  warning: "warning",
  muted: "muted",
  dim: "dim",
  text: plain,
  thinkingText: "thinking",
  userMessageText: "user",
  customMessageText: plain,
  customMessageLabel: "accent",
  toolTitle: "toolName",
  toolOutput: "muted",
  toolDiffAdded: "added",
  toolDiffRemoved: "removed",
  toolDiffContext: "muted",
  mdHeading: "accent",
  mdLink: "accent",
  mdLinkUrl: "dim",
  mdCode: "accent",
  mdCodeBlock: plain,
  mdCodeBlockBorder: "dim",
  mdQuote: "muted",
  mdQuoteBorder: "dim",
  mdHr: "dim",
  mdListBullet: "muted",
  syntaxComment: "dim",
  syntaxKeyword: "accent",
  syntaxFunction: "toolName",
  syntaxVariable: plain,
  syntaxString: "success",
  syntaxNumber: "warning",
  syntaxType: "toolName",
  syntaxOperator: "muted",
  syntaxPunctuation: "muted",
  thinkingOff: "dim",
  thinkingMinimal: "dim",
  thinkingLow: "muted",
  thinkingMedium: "muted",
  thinkingHigh: "accent",
  thinkingXhigh: "accent",
  thinkingMax: "accent",
  bashMode: "warning",
};

/** What is selected has to be seen without colours, too. */
const backgrounds: Readonly<Record<ThemeBg, StyleName>> = {
  selectedBg: "selected",
  userMessageBg: "userBackground",
  customMessageBg: "toolBackground",
  toolPendingBg: "toolBackground",
  toolSuccessBg: "toolBackground",
  toolErrorBg: "toolErrorBackground",
};

/** The program's looks by the names that extensions know. They follow the scheme of now. */
export function extensionTheme({ style }: Pick<Theme, "style">): ExtensionTheme {
  const look = (name: StyleName | undefined, text: string) =>
    name === undefined ? String(text) : style[name](String(text));
  return {
    fg: (color, text) => look(Object.hasOwn(colors, color) ? colors[color] : undefined, text),
    bg: (color, text) => look(Object.hasOwn(backgrounds, color) ? backgrounds[color] : undefined, text),
    bold: (text) => look("bold", text),
    italic: attribute(3, 23),
    underline: attribute(4, 24),
    inverse: attribute(7, 27),
    strikethrough: attribute(9, 29),
  };
}

function attribute(open: number, close: number): (text: string) => string {
  return (text) => (text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`);
}
