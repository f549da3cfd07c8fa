import { type ThemeColors, type ThemeColorValue, withFallbacks } from "@bonsai-agent/extension/themes";

/** A theme file of numbers and empty texts only: no start has to parse a colour. */
interface BuiltInTheme {
  name: string;
  appearance: "dark" | "light";
  vars: Readonly<Record<string, number>>;
}

/** The colours of both themes. Values are names of `vars`. */
const colors = {
  accent: "accent",
  border: "border",
  borderAccent: "accent",
  borderMuted: "border",
  success: "green",
  error: "red",
  warning: "yellow",
  muted: "muted",
  dim: "dim",
  text: "",
  thinkingText: "thinking",
  selectedBg: "",
  userMessageBg: "userGround",
  userMessageText: "user",
  customMessageBg: "toolGround",
  customMessageText: "",
  customMessageLabel: "accent",
  toolPendingBg: "toolGround",
  toolSuccessBg: "toolGround",
  toolErrorBg: "errorGround",
  toolTitle: "blue",
  toolOutput: "muted",
  mdHeading: "accent",
  mdLink: "accent",
  mdLinkUrl: "dim",
  mdCode: "accent",
  mdCodeBlock: "",
  mdCodeBlockBorder: "dim",
  mdQuote: "muted",
  mdQuoteBorder: "dim",
  mdHr: "dim",
  mdListBullet: "muted",
  toolDiffAdded: "green",
  toolDiffRemoved: "red",
  toolDiffContext: "muted",
  syntaxComment: "muted",
  syntaxKeyword: "accent",
  syntaxFunction: "blue",
  syntaxVariable: "blue",
  syntaxString: "green",
  syntaxNumber: "yellow",
  syntaxType: "blue",
  syntaxOperator: "",
  syntaxPunctuation: "",
  thinkingOff: "dim",
  thinkingMinimal: "dim",
  thinkingLow: "muted",
  thinkingMedium: "muted",
  thinkingHigh: "accent",
  thinkingXhigh: "accent",
  bashMode: "yellow",
} as const;

const dark: BuiltInTheme = {
  name: "dark",
  appearance: "dark",
  vars: {
    accent: 110,
    blue: 152,
    green: 114,
    yellow: 179,
    red: 210,
    user: 253,
    muted: 247,
    thinking: 246,
    dim: 244,
    border: 240,
    userGround: 236,
    toolGround: 235,
    errorGround: 52,
  },
};

const light: BuiltInTheme = {
  name: "light",
  appearance: "light",
  vars: {
    accent: 25,
    blue: 24,
    green: 22,
    yellow: 94,
    red: 124,
    user: 235,
    muted: 240,
    thinking: 241,
    dim: 242,
    border: 248,
    userGround: 254,
    toolGround: 255,
    errorGround: 224,
  },
};

function resolveTheme({ name, appearance, vars }: BuiltInTheme): ThemeColors {
  const values = Object.entries(colors).map(([token, colour]): [string, ThemeColorValue] => [
    token,
    colour === "" ? "" : vars[colour]!,
  ]);
  return { name, appearance, colors: withFallbacks(Object.fromEntries(values)) };
}

/** The themes that need no file. */
export const builtInThemes = { dark: resolveTheme(dark), light: resolveTheme(light) } as const;
