import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { colorOpening, rgbOf, themeTokenNames, tokenFacts } from "@bonsai-agent/extension/themes";
import { everyRow } from "@bonsai-agent/testkit";
import { converter, type Okhsl, type Oklch } from "culori";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readThemes } from "../../src/interactive/terminal/theme-control.ts";
import { parseTheme, readThemeFile, themeFileSchema } from "../../src/interactive/terminal/theme-file.ts";

const required = themeTokenNames.filter((token) => tokenFacts(token).fallback === undefined);

/** Every colour that has to be there. */
const plain = Object.fromEntries(required.map((token) => [token, ""]));

function theme(colors: object = {}, more: object = {}) {
  return { name: "mine", colors: { ...plain, ...colors }, ...more };
}

const color = (value: unknown, vars?: object) =>
  parseTheme(theme({ accent: value }, { vars }), "mine.json").colors.accent;
const problem = (value: unknown): string => {
  try {
    parseTheme(value, "mine.json");
  } catch (error) {
    expect(error).toMatchObject({ code: "theme_invalid" });
    return (error as Error).message;
  }
  return "none";
};

/** As pi writes them, of both of its versions that are around; the numbers are those of its own schema. */
describe("themes of pi", () => {
  const names = [
    "accent",
    "border",
    "borderAccent",
    "borderMuted",
    "success",
    "error",
    "warning",
    "muted",
    "dim",
  ];
  const optional = ["scrollbarTrack", "scrollbarThumb", "searchMatchBg", "searchMatchText", "thinkingMax"];
  test("have the tokens that are known here, and may leave out the same ones", () => {
    expect(themeTokenNames).toHaveLength(56);
    expect(required).toHaveLength(51);
    expect(required).toEqual(expect.arrayContaining(names));
    expect(themeTokenNames.filter((token) => !required.includes(token)).toSorted()).toEqual(
      optional.toSorted(),
    );
  });

  test("version 0.87 has hexadecimal colours in vars, an export section and a schema", () => {
    const file = {
      $schema: "https://example.org/theme-schema.json",
      ...theme(
        { accent: "accent", border: "blue", thinkingXhigh: "#d183e8", userMessageBg: "userMsgBg", text: 253 },
        { vars: { accent: "#8abeb7", blue: "#5f87ff", userMsgBg: "#343541" } },
      ),
      export: { pageBg: "#18181e", cardBg: "#1e1e24", infoBg: "#3c3728" },
    };
    const { name, appearance, colors } = parseTheme(file, "mine.json");
    expect([name, appearance]).toEqual(["mine", "dark"]);
    expect(colors.accent).toEqual({ r: 0x8a, g: 0xbe, b: 0xb7 });
    expect(colors.text).toBe(253);
    expect(colors.thinkingMax).toEqual(colors.thinkingXhigh);
    expect(colors.scrollbarThumb).toBe(253);
  });

  test("version 1.5 has an appearance, and colours by hue, saturation and lightness", () => {
    const file = theme(
      { accent: "violet", userMessageBg: "okhsl(235 19% 91%)" },
      { appearance: "light", vars: { violet: "okhsl(295 60% 46%)" } },
    );
    expect(parseTheme(file, "mine.json").appearance).toBe("light");
    expect(parseTheme({ ...file, appearance: undefined }, "mine.json").appearance).toBe("light");
    expect(color("okhsl(295 50% 67%)")).toEqual({ r: 167, g: 152, b: 215 });
  });
});

test("reads colours in every notation", () =>
  everyRow([
    ["#0af", { r: 0, g: 170, b: 255 }],
    ["#00AAff", { r: 0, g: 170, b: 255 }],
    [39, 39],
    ["", ""],
    ["oklch(62% 0.1 200)", { r: 28, g: 152, b: 158 }],
    ["oklch(0.62 0.1 200deg)", { r: 28, g: 152, b: 158 }],
    ["okhsl(250 60% 55%)", { r: 78, g: 136, b: 194 }],
    ["okhsl(0 0% 100%)", { r: 255, g: 255, b: 255 }],
    ["oklch(0% 0 0)", { r: 0, g: 0, b: 0 }],
  ])(([written, expected]) => {
    expect(color(written)).toEqual(expected);
  }));

test("colours are what the library of colours says they are, within a step, and always fit the screen", () => {
  const [okhsl, oklch] = [converter("okhsl"), converter("oklch")];
  const part = fc.integer({ min: 25, max: 95 });
  const same = (written: string, back: (rgb: { mode: "rgb"; r: number; g: number; b: number }) => number) => {
    const { r, g, b } = color(written) as { r: number; g: number; b: number };
    for (const each of [r, g, b]) expect(each >= 0 && each <= 255 && Number.isInteger(each)).toBe(true);
    return back({ mode: "rgb", r: r / 255, g: g / 255, b: b / 255 });
  };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 359 }), part, part, (h, s, l) => {
      expect(same(`okhsl(${h} ${s}% ${l}%)`, (rgb) => (okhsl(rgb) as Okhsl).l * 100)).toBeCloseTo(l, -0.3);
      // What does not fit loses chroma; its lightness stays.
      expect(same(`oklch(${l}% 0.3 ${h})`, (rgb) => (oklch(rgb) as Oklch).l * 100)).toBeCloseTo(l, -0.3);
    }),
  );
});

test("variables lead to variables; a circle is refused", () => {
  expect(color("a", { a: "b", b: "c", c: "#010203" })).toEqual({ r: 1, g: 2, b: 3 });
  expect(problem(theme({ accent: "a" }, { vars: { a: "b", b: "a" } }))).toContain(
    'colors.accent is "a", but',
  );
});

test("a refused theme names the file, the key, the value and the allowed values", () =>
  everyRow([
    ["a list", [], "mine.json: the whole file is [], but must be an object."],
    ["no name", { colors: plain }, "mine.json: name is missing, but must be a string."],
    [
      "a name with a slash",
      theme({}, { name: "a/b" }),
      'name is "a/b", but must be a text of up to 100 char',
    ],
    [
      "the name auto",
      theme({}, { name: "auto" }),
      'name is "auto", but must be another name: auto is reserved',
    ],
    ["an appearance", theme({}, { appearance: "dim" }), 'is "dim", but must be one of "dark", "light".'],
    ["no colors", { name: "mine" }, "colors is missing, but must be an object."],
    ["a missing token", { name: "mine", colors: { ...plain, dim: undefined } }, "colors.dim is missing"],
    ["an unknown token", theme({ foo: "" }), "unknown key colors.foo. Known keys: accent, border,"],
    ["an unknown key", theme({}, { color: {} }), "unknown key color. Known keys: $schema, name,"],
    [
      "a value that is no colour",
      theme({ accent: true }),
      "colors.accent is true, but must be a string, or a",
    ],
    ["a number beyond", theme({ accent: 256 }), "colors.accent is 256, but must be"],
    ["a half number", theme({ accent: 1.5 }), "colors.accent is 1.5, but must be"],
    ["an odd digit", theme({ accent: "#12345g" }), 'colors.accent is "#12345g", but must be #rgb,'],
    ["another function", theme({ accent: "rgb(1 2 3)" }), 'colors.accent is "rgb(1 2 3)", but must be'],
    ["an unknown name", theme({ accent: "red" }), 'colors.accent is "red", but must be #rgb'],
    ["a typo", theme({ accent: "blu" }, { vars: { blue: 4 } }), "Did you mean blue?"],
    ["a name of every object", theme({ accent: "constructor" }), 'is "constructor", but must be'],
    ["a long text", theme({ accent: `#${"f".repeat(10_000)}` }), "fff…, but must be"],
  ])(([_name, value, expected]) => {
    expect(problem(value)).toContain(expected);
  }));

function folder(files: Record<string, string | Buffer>): string {
  const made = mkdtempSync(join(tmpdir(), "bonsai-themes-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  return made;
}

test("a file that is not JSON is refused", () => {
  const path = join(folder({ "a.json": '{"name":' }), "a.json");
  expect(() => readThemeFile(path)).toThrow(`${path} is not valid JSON`);
});

test("a byte-order mark is no fault, and a theme knows its file", () => {
  const path = join(folder({ "a.json": `\ufeff${JSON.stringify(theme())}` }), "a.json");
  expect(readThemeFile(path)).toMatchObject({ name: "mine", path });
});

test("reads the themes of all places in their order and names each broken file", async () => {
  const json = (name: string, accent: number) => JSON.stringify({ ...theme({ accent }), name });
  const first = folder({ "a.json": json("mine", 1), "b.json": json("light", 2), "notes.txt": "no theme" });
  const second = folder({ "x.json": json("mine", 3), "y.json": "{}" });
  mkdirSync(join(second, "folder.json"));
  const places = [first, second, join(first, "gone"), join(first, "a.json", "below")].map((path) => ({
    path,
    origin: "user" as const,
  }));
  const { themes, problems } = await readThemes(places);
  expect(themes.map(({ name, colors }) => [name, colors.accent])).toEqual([
    ["mine", 1],
    ["light", 2],
    ["mine", 3],
  ]);
  expect(problems).toEqual([
    expect.stringContaining(join(second, "folder.json")),
    expect.stringContaining(`${join(second, "y.json")}: name is missing`),
  ]);
});

test("a place can be a file", async () => {
  const path = join(folder({ "a.json": JSON.stringify(theme()) }), "a.json");
  const { themes } = await readThemes([{ path, origin: "settings" }]);
  expect(themes.map(({ name }) => name)).toEqual(["mine"]);
});

test("a colour is as near as the terminal has it", () => {
  const orange = { r: 255, g: 140, b: 10 };
  expect(colorOpening(orange, "text", "truecolor")).toBe("\u001b[38;2;255;140;10m");
  expect(colorOpening(orange, "background", "256color")).toBe("\u001b[48;5;208m");
  expect(colorOpening({ r: 128, g: 128, b: 128 }, "text", "256color")).toBe("\u001b[38;5;244m");
  expect(colorOpening({ r: 250, g: 10, b: 5 }, "text", "16color")).toBe("\u001b[91m");
  expect(colorOpening(235, "background", "16color")).toBe("\u001b[40m");
  for (let index = 16; index < 256; index += 1) {
    const opening = colorOpening(rgbOf(index), "text", "256color");
    expect(rgbOf(Number(/5;(\d+)m/.exec(opening)?.[1]))).toEqual(rgbOf(index));
  }
});

test("the published JSON Schema is that of the files", async () => {
  const { $schema, ...schema } = z.toJSONSchema(themeFileSchema, { io: "input" });
  const published = { $schema, title: "A theme of Bonsai", ...schema };
  await expect(`${JSON.stringify(published, null, 2)}\n`).toMatchFileSnapshot("../../theme.schema.json");
  expect(Object.keys(themeFileSchema.shape.colors.shape)).toEqual(themeTokenNames);
});

test("an unprintable, long or ambiguous name is refused", () =>
  everyRow(["\u001b[31mred", "two\nlines", " mine", "mine ", " ", "", "m".repeat(101), "a/b"])((name) =>
    expect(problem({ ...theme(), name })).toContain("name is "),
  ));
