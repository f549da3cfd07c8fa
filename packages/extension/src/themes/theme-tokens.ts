/** The part of a text that a token colours. */
type Slot = "text" | "background";

interface TokenFacts {
  slot: Slot;
  /** The meaning of the token, for theme authors. */
  meaning: string;
  /** The token whose colour is the default. Without one, the colour is required. */
  fallback?: string;
  /** The style without colours: bold, or reverse video. Default: none. */
  without?: "bold" | "reverse";
}

type MoreFacts = Omit<TokenFacts, "slot" | "meaning">;

const text = (meaning: string, more: MoreFacts = {}) => ({ slot: "text", meaning, ...more }) as const;
const ground = (meaning: string, more: MoreFacts = {}) => ({ slot: "background", meaning, ...more }) as const;
const bold = { without: "bold" } as const;

/**
 * All colours of a theme, by meaning. The names are pi's, so pi's themes work. Colours of pi's full screen
 * (`scrollbar…`, `searchMatch…`) are accepted but not used.
 */
const themeTokens = {
  accent: text("Accent: the selected row, summary titles", bold),
  border: text("Lines around the editor and panels"),
  borderAccent: text("Highlighted lines", bold),
  borderMuted: text("Muted lines"),
  success: text("Success"),
  error: text("Errors", bold),
  warning: text("Warnings", bold),
  muted: text("Muted text"),
  dim: text("Faint text: keys, times"),
  text: text("Plain text of extensions; answers use the terminal's own colour"),
  thinkingText: text("The model's thinking"),
  scrollbarTrack: text("Not used", { fallback: "muted" }),
  scrollbarThumb: text("Not used", { fallback: "text" }),
  selectedBg: ground("Background of the selection; reverse video if empty", { without: "reverse" }),
  searchMatchBg: ground("Not used", { fallback: "selectedBg" }),
  searchMatchText: text("Not used", { fallback: "text" }),
  userMessageBg: ground("Background of your messages"),
  userMessageText: text("Your messages", bold),
  customMessageBg: ground("Background of messages that extensions draw"),
  customMessageText: text("Messages that extensions draw"),
  customMessageLabel: text("Title of an extension's message", bold),
  toolPendingBg: ground("Background of a running tool call that an extension draws"),
  toolSuccessBg: ground("Background of a successful tool call that an extension draws"),
  toolErrorBg: ground("Background of a failed tool call that an extension draws"),
  toolTitle: text("Tool names", bold),
  toolOutput: text("Tool output"),
  mdHeading: text("Markdown: headings", bold),
  mdLink: text("Markdown: links", bold),
  mdLinkUrl: text("Markdown: link addresses"),
  mdCode: text("Markdown: inline code", bold),
  mdCodeBlock: text("Markdown: code blocks in an unknown language"),
  mdCodeBlockBorder: text("Markdown: code fences"),
  mdQuote: text("Markdown: quotes"),
  mdQuoteBorder: text("Markdown: the bar beside a quote"),
  mdHr: text("Markdown: horizontal rules"),
  mdListBullet: text("Markdown: list bullets and numbers"),
  toolDiffAdded: text("Diffs: added lines"),
  toolDiffRemoved: text("Diffs: removed lines"),
  toolDiffContext: text("Diffs: unchanged lines"),
  syntaxComment: text("Code: comments"),
  syntaxKeyword: text("Code: keywords", bold),
  syntaxFunction: text("Code: function names", bold),
  syntaxVariable: text("Code: variables and attributes", bold),
  syntaxString: text("Code: strings"),
  syntaxNumber: text("Code: numbers and literals", bold),
  syntaxType: text("Code: type names", bold),
  syntaxOperator: text("Code: operators"),
  syntaxPunctuation: text("Code: punctuation"),
  thinkingOff: text("Thinking level off, if an extension shows it"),
  thinkingMinimal: text("Thinking level minimal"),
  thinkingLow: text("Thinking level low"),
  thinkingMedium: text("Thinking level medium"),
  thinkingHigh: text("Thinking level high", bold),
  thinkingXhigh: text("Thinking level xhigh", bold),
  thinkingMax: text("Thinking level max", { ...bold, fallback: "thinkingXhigh" }),
  bashMode: text("Shell command that you type, if an extension shows it", bold),
} as const satisfies Record<string, TokenFacts>;

type Tokens = typeof themeTokens;
export type ThemeToken = keyof Tokens;
/** Text colours. */
export type ThemeColor = {
  [Token in ThemeToken]: Tokens[Token]["slot"] extends "text" ? Token : never;
}[ThemeToken];
/** Background colours. */
export type ThemeBg = Exclude<ThemeToken, ThemeColor>;

export const themeTokenNames = Object.keys(themeTokens) as readonly ThemeToken[];

export function tokenFacts(token: ThemeToken): TokenFacts {
  return themeTokens[token];
}
