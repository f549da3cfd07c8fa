/** What of a text a token colours. */
type Slot = "text" | "background";

interface TokenFacts {
  slot: Slot;
  /** What the token colours, for who writes a theme. */
  meaning: string;
  /** The token whose colour it has where a theme does not say. Without one, every theme has to say. */
  fallback?: string;
  /** What shows the same without colours: weight, or reverse video. Default: nothing. */
  without?: "bold" | "reverse";
}

type MoreFacts = Omit<TokenFacts, "slot" | "meaning">;

const text = (meaning: string, more: MoreFacts = {}) => ({ slot: "text", meaning, ...more }) as const;
const ground = (meaning: string, more: MoreFacts = {}) => ({ slot: "background", meaning, ...more }) as const;
const bold = { without: "bold" } as const;

/**
 * Every colour that a theme has, by what it means: the only list of them. The names are pi's, so that its themes are
 * themes here. Those of pi's own full screen (`scrollbar…`, `searchMatch…`) are known, and nothing is drawn with them.
 */
const themeTokens = {
  accent: text("What stands out: the selected row, titles of summaries", bold),
  border: text("Lines around the editor and panels"),
  borderAccent: text("Lines that stand out", bold),
  borderMuted: text("Lines of little weight"),
  success: text("What went well"),
  error: text("What failed", bold),
  warning: text("What to look at", bold),
  muted: text("Text of less weight"),
  dim: text("Text of least weight: keys, times"),
  text: text("Text as such, where an extension draws it; answers have the terminal's own colour"),
  thinkingText: text("What the model thought"),
  scrollbarTrack: text("Not drawn", { fallback: "muted" }),
  scrollbarThumb: text("Not drawn", { fallback: "text" }),
  selectedBg: ground("Behind what is selected; empty: reverse video", { without: "reverse" }),
  searchMatchBg: ground("Not drawn", { fallback: "selectedBg" }),
  searchMatchText: text("Not drawn", { fallback: "text" }),
  userMessageBg: ground("Behind the user's messages"),
  userMessageText: text("The user's messages", bold),
  customMessageBg: ground("Behind messages of extensions, where they draw them"),
  customMessageText: text("Messages of extensions, where they draw them"),
  customMessageLabel: text("Whose message it is", bold),
  toolPendingBg: ground("Behind a call that runs, where an extension draws it"),
  toolSuccessBg: ground("Behind a call that went well, where an extension draws it"),
  toolErrorBg: ground("Behind a call that failed, where an extension draws it"),
  toolTitle: text("The name of a tool", bold),
  toolOutput: text("What a tool put out"),
  mdHeading: text("Markdown: headings", bold),
  mdLink: text("Markdown: links", bold),
  mdLinkUrl: text("Markdown: addresses of links"),
  mdCode: text("Markdown: code within a line", bold),
  mdCodeBlock: text("Markdown: code of which the language is not known"),
  mdCodeBlockBorder: text("Markdown: fences around code"),
  mdQuote: text("Markdown: quotes"),
  mdQuoteBorder: text("Markdown: the line beside a quote"),
  mdHr: text("Markdown: lines across"),
  mdListBullet: text("Markdown: bullets and numbers of lists"),
  toolDiffAdded: text("Differences: lines that were added"),
  toolDiffRemoved: text("Differences: lines that were removed"),
  toolDiffContext: text("Differences: lines around them"),
  syntaxComment: text("Code: comments"),
  syntaxKeyword: text("Code: keywords", bold),
  syntaxFunction: text("Code: names of functions", bold),
  syntaxVariable: text("Code: variables and attributes", bold),
  syntaxString: text("Code: strings"),
  syntaxNumber: text("Code: numbers and literals", bold),
  syntaxType: text("Code: names of types", bold),
  syntaxOperator: text("Code: operators"),
  syntaxPunctuation: text("Code: punctuation"),
  thinkingOff: text("A level of thinking, where an extension shows it: off"),
  thinkingMinimal: text("The same: minimal"),
  thinkingLow: text("The same: low"),
  thinkingMedium: text("The same: medium"),
  thinkingHigh: text("The same: high", bold),
  thinkingXhigh: text("The same: xhigh", bold),
  thinkingMax: text("The same: max", { ...bold, fallback: "thinkingXhigh" }),
  bashMode: text("A command that the user writes, where an extension shows it", bold),
} as const satisfies Record<string, TokenFacts>;

type Tokens = typeof themeTokens;
export type ThemeToken = keyof Tokens;
/** Colours of a text, by what they mean. */
export type ThemeColor = {
  [Token in ThemeToken]: Tokens[Token]["slot"] extends "text" ? Token : never;
}[ThemeToken];
/** Colours behind a text, by what they mean. */
export type ThemeBg = Exclude<ThemeToken, ThemeColor>;

export const themeTokenNames = Object.keys(themeTokens) as readonly ThemeToken[];

/** What the table says of a token, with what it leaves out. */
export function tokenFacts(token: ThemeToken): TokenFacts {
  return themeTokens[token];
}
