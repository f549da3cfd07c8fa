import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { builtInThemes } from "../../src/interactive/terminal/built-in-themes.ts";
import { schemeOfBackground, schemeOfEnvironment } from "../../src/interactive/terminal/capabilities.ts";
import { makeTheme, type StyleName } from "../../src/interactive/terminal/theme.ts";

type Rgb = readonly [number, number, number];

/** Of terminals that are around: black, VS Code, Solarized; white, Solarized, a grey white. */
const backgrounds = {
  dark: [
    [0, 0, 0],
    [30, 30, 30],
    [0, 43, 54],
  ],
  light: [
    [255, 255, 255],
    [253, 246, 227],
    [245, 245, 245],
  ],
} as const satisfies Record<string, readonly Rgb[]>;

/** WCAG 2: 4.5 for text, 3 for what is large or of little weight. */
const least: Partial<Record<StyleName, number>> = {
  accent: 4.5,
  muted: 4.5,
  success: 4.5,
  warning: 4.5,
  error: 4.5,
  userMessageText: 4.5,
  thinkingText: 4.5,
  toolTitle: 4.5,
  toolDiffAdded: 4.5,
  toolDiffRemoved: 4.5,
  dim: 3.5,
  border: 1.5,
};

test("every style of a theme can be read on common terminal backgrounds", () =>
  everyRow(["dark", "light"] as const)((scheme) => {
    const { style } = makeTheme(scheme);
    const faint = Object.entries(least).flatMap(([name, wanted]) =>
      backgrounds[scheme]
        .map((background) => contrast(colorOf(style[name as StyleName]("x")), background))
        .filter((found) => found < wanted)
        .map((found) => `${name}: ${found.toFixed(1)}`),
    );
    expect(faint).toEqual([]);
  }));

test("text can be read on the backgrounds of its theme", () =>
  everyRow(["dark", "light"] as const)((scheme) => {
    const { style } = makeTheme(scheme);
    const pairs: [StyleName, StyleName][] = [
      ["userMessageText", "userMessageBg"],
      ["muted", "userMessageBg"],
      ["toolTitle", "toolPendingBg"],
      ["muted", "toolPendingBg"],
      ["toolDiffAdded", "toolPendingBg"],
      ["toolDiffRemoved", "toolPendingBg"],
      ["toolTitle", "toolErrorBg"],
      ["error", "toolErrorBg"],
      ["muted", "toolErrorBg"],
    ];
    const faint = pairs
      .map(([text, under]) => ({
        pair: `${text} on ${under}`,
        found: contrast(colorOf(style[text]("x")), colorOf(style[under]("x"))),
      }))
      .filter(({ found }) => found < 4.5)
      .map(({ pair, found }) => `${pair}: ${found.toFixed(1)}`);
    expect(faint).toEqual([]);
  }));

test("a theme without colours has weight and reverse video only", () => {
  const { style } = makeTheme("none");
  const codes = Object.values(style).flatMap((each) => each("x").match(/\d[\d;]*(?=m)/g) ?? []);
  expect(new Set(codes)).toEqual(new Set(["1", "22", "7", "27"]));
});

test("a style follows the current scheme of its theme", () => {
  const theme = makeTheme("dark");
  const { accent } = theme.style;
  const before = accent("x");
  theme.use(builtInThemes.light);
  expect(theme.now.name).toBe("light");
  expect(accent("x")).toBe(makeTheme("light").style.accent("x"));
  expect(accent("x")).not.toBe(before);
  expect(theme.markdown.heading("x")).toBe(makeTheme("light").markdown.heading("x"));
});

test("the environment chooses the scheme", () =>
  everyRow([
    [{}, "dark"],
    [{ NO_COLOR: "" }, "dark"],
    [{ NO_COLOR: "1", COLORFGBG: "0;15" }, "none"],
    [{ TERM: "dumb" }, "none"],
    [{ COLORFGBG: "15;0" }, "dark"],
    [{ COLORFGBG: "0;15" }, "light"],
    [{ COLORFGBG: "0;default;7" }, "light"],
    [{ COLORFGBG: "12;8" }, "dark"],
    [{ COLORFGBG: "0;default" }, "dark"],
    [{ COLORFGBG: "0;99" }, "dark"],
  ])(([env, scheme]) => {
    expect(schemeOfEnvironment(env)).toBe(scheme);
  }));

test("a background chooses the scheme by its brightness", () =>
  everyRow([
    ["black", { r: 0, g: 0, b: 0 }, "dark"],
    ["white", { r: 255, g: 255, b: 255 }, "light"],
    ["Solarized dark", { r: 0, g: 43, b: 54 }, "dark"],
    ["Solarized light", { r: 253, g: 246, b: 227 }, "light"],
    ["a middle blue", { r: 30, g: 60, b: 200 }, "dark"],
    ["a middle green", { r: 80, g: 200, b: 80 }, "light"],
  ] as const)(([_name, background, scheme]) => {
    expect(schemeOfBackground(background)).toBe(scheme);
  }));

function colorOf(styled: string): Rgb {
  const code = Number(/[34]8;5;(\d+)/.exec(styled)?.[1]);
  if (code >= 232) return [8 + (code - 232) * 10, 8 + (code - 232) * 10, 8 + (code - 232) * 10];
  const steps = [0, 95, 135, 175, 215, 255];
  const at = code - 16;
  return [steps[Math.floor(at / 36)]!, steps[Math.floor(at / 6) % 6]!, steps[at % 6]!];
}

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
