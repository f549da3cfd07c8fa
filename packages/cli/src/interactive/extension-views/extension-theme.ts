import type { Theme as ExtensionTheme } from "@bonsai-agent/extension";
import {
  appearanceOf,
  colorOfOpening,
  type ThemeColors,
  type ThemeToken,
  themeTokenNames,
  tokenFacts,
  withFallbacks,
} from "@bonsai-agent/extension/themes";
import { makeTheme, type Theme } from "../terminal/theme.ts";

/** The theme in use, as extensions get it. */
export function extensionTheme(theme: Pick<Theme, "style" | "now" | "mode" | "opening">): ExtensionTheme {
  const { style, mode } = theme;
  const look = (name: string, slot: string, text: string) =>
    isTokenFor(name, slot) ? style[name](String(text)) : String(text);
  const opening = (name: string, slot: string) => (isTokenFor(name, slot) ? theme.opening(name) : "");
  return {
    get name() {
      return theme.now.name;
    },
    get appearance() {
      return theme.now.appearance;
    },
    fg: (color, text) => look(color, "text", text),
    bg: (color, text) => look(color, "background", text),
    getFgAnsi: (color) => opening(color, "text"),
    getBgAnsi: (color) => opening(color, "background"),
    getColorMode: () => mode,
    bold: (text) => style.bold(String(text)),
    italic: attribute(3, 23),
    underline: attribute(4, 24),
    inverse: attribute(7, 27),
    strikethrough: attribute(9, 29),
  };
}

/** Another theme on the same terminal. */
export function otherTheme(colors: ThemeColors, { mode }: Pick<Theme, "mode">): ExtensionTheme {
  const other = makeTheme(mode === "none" ? "none" : colors.appearance, mode);
  other.use(colors);
  return extensionTheme(other);
}

/** Reads the colours of an extension's theme from its escape sequences. @throws the errors of its methods */
export function colorsOf(given: ExtensionTheme): ThemeColors {
  const opening = (token: ThemeToken) =>
    isTokenFor(token, "text") ? given.getFgAnsi(token as never) : given.getBgAnsi(token as never);
  const colors = withFallbacks(
    Object.fromEntries(
      themeTokenNames.flatMap((token) => {
        const color = colorOfOpening(String(opening(token)));
        return color === undefined ? [] : [[token, color]];
      }),
    ),
  );
  const { name, appearance } = given;
  return {
    name: typeof name === "string" && name !== "" ? name : "(from an extension)",
    appearance: appearance === "dark" || appearance === "light" ? appearance : appearanceOf(colors),
    colors,
  };
}

function isTokenFor(name: string, slot: string): name is ThemeToken {
  return (
    (themeTokenNames as readonly string[]).includes(name) && tokenFacts(name as ThemeToken).slot === slot
  );
}

function attribute(open: number, close: number): (text: string) => string {
  return (text) => (text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`);
}
