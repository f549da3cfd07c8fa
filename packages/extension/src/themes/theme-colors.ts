import { type ThemeToken, themeTokenNames, tokenFacts } from "./theme-tokens.ts";

export interface Rgb {
  /** 0 to 255 each. */
  r: number;
  g: number;
  b: number;
}

/** A colour of a theme: RGB, an index of the terminal's 256 colours, or empty for the terminal's default. */
export type ThemeColorValue = Rgb | number | "";

/** The colours of the terminal. */
export type ColorMode = "truecolor" | "256color" | "16color" | "none";

/** A theme with all colours. */
export interface ThemeColors {
  name: string;
  /** The background that it is made for. */
  appearance: "dark" | "light";
  colors: Readonly<Record<ThemeToken, ThemeColorValue>>;
  /** Its file, absolute; undefined for a theme without a file. */
  path?: string | undefined;
}

/** The escape that starts a colour. */
export function colorOpening(
  value: ThemeColorValue,
  slot: "text" | "background",
  mode: Exclude<ColorMode, "none">,
): string {
  const isText = slot === "text";
  if (value === "") return `\u001b[${isText ? 39 : 49}m`;
  if (mode === "16color") {
    const index = nearestIndex(rgbOf(value), 0, 15);
    return `\u001b[${(index < 8 ? 30 + index : 82 + index) + (isText ? 0 : 10)}m`;
  }
  const lead = isText ? 38 : 48;
  if (typeof value === "object" && mode === "truecolor")
    return `\u001b[${lead};2;${value.r};${value.g};${value.b}m`;
  return `\u001b[${lead};5;${typeof value === "number" ? value : nearestIndex(value, 16, 255)}m`;
}

const steps = [0, 95, 135, 175, 215, 255] as const;
/** The colours of xterm. Users can change them in their terminals. */
const sixteen = [
  [0, 0, 0],
  [205, 0, 0],
  [0, 205, 0],
  [205, 205, 0],
  [0, 0, 238],
  [205, 0, 205],
  [0, 205, 205],
  [229, 229, 229],
  [127, 127, 127],
  [255, 0, 0],
  [0, 255, 0],
  [255, 255, 0],
  [92, 92, 255],
  [255, 0, 255],
  [0, 255, 255],
  [255, 255, 255],
] as const;

/** The RGB of a colour. */
export function rgbOf(value: Rgb | number): Rgb {
  if (typeof value === "object") return value;
  if (value < 16) {
    const [r, g, b] = sixteen[value]!;
    return { r, g, b };
  }
  const grey = 8 + (value - 232) * 10;
  if (value >= 232) return { r: grey, g: grey, b: grey };
  const at = value - 16;
  return { r: steps[Math.floor(at / 36)]!, g: steps[Math.floor(at / 6) % 6]!, b: steps[at % 6]! };
}

function nearestIndex({ r, g, b }: Rgb, first: number, last: number): number {
  let [best, least] = [first, Number.POSITIVE_INFINITY];
  for (let index = first; index <= last; index += 1) {
    const other = rgbOf(index);
    // The eye distinguishes greens best, and blues least.
    const distance = 3 * (r - other.r) ** 2 + 6 * (g - other.g) ** 2 + (b - other.b) ** 2;
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

/** The luminance of a colour, 0 to 1 (WCAG 2). The middle between black and white in contrast is 0.18. */
function relativeLuminance({ r, g, b }: Rgb): number {
  const [red, green, blue] = [r, g, b].map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function isLight(color: Rgb): boolean {
  return relativeLuminance(color) > 0.18;
}

const groundTokens = ["userMessageBg", "toolPendingBg", "customMessageBg", "selectedBg"] as const;
const textTokens = ["text", "userMessageText", "muted"] as const;

/** The background of a theme: as dark as its background colours, else the opposite of its text colours. */
export function appearanceOf(colors: ThemeColors["colors"]): "dark" | "light" {
  const of = (tokens: readonly ThemeToken[]) =>
    tokens.map((token) => colors[token]).find((each) => each !== "");
  const ground = of(groundTokens);
  if (ground !== undefined) return isLight(rgbOf(ground)) ? "light" : "dark";
  const text = of(textTokens);
  return text === undefined || isLight(rgbOf(text)) ? "dark" : "light";
}

/** All colours of a theme. A missing token gets the colour of its fallback. */
export function withFallbacks(
  colors: Readonly<Partial<Record<ThemeToken, ThemeColorValue>>>,
): ThemeColors["colors"] {
  const of = (token: ThemeToken): ThemeColorValue => {
    const { fallback } = tokenFacts(token);
    return colors[token] ?? (fallback === undefined ? "" : of(fallback as ThemeToken));
  };
  return Object.fromEntries(themeTokenNames.map((token) => [token, of(token)])) as ThemeColors["colors"];
}

/** The colour that a terminal is sent so; undefined for what is no colour. */
export function colorOfOpening(opening: string): ThemeColorValue | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it begins with one
  const codes = /^\x1b\[([\d;]+)m$/.exec(opening)?.[1]?.split(";").map(Number) ?? [];
  const [kind = 0, way, ...parts] = codes;
  if (codes.length === 1) return kind === 39 || kind === 49 ? "" : ofSixteen(kind);
  if (kind !== 38 && kind !== 48) return undefined;
  if (parts.some((part) => part > 255)) return undefined;
  const [r, g, b] = parts;
  if (way === 5 && parts.length === 1) return r;
  return way === 2 && r !== undefined && g !== undefined && b !== undefined ? { r, g, b } : undefined;
}

/** 30 to 37 and 90 to 97 colour a text; 10 more, what is behind it. */
function ofSixteen(code: number): number | undefined {
  const text = (code >= 40 && code < 50) || code >= 100 ? code - 10 : code;
  if (text >= 30 && text < 38) return text - 30;
  return text >= 90 && text < 98 ? text - 82 : undefined;
}
