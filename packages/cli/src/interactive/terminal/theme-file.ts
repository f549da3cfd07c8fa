import { open, stat } from "node:fs/promises";
import {
  appearanceOf,
  type Rgb,
  type ThemeColors,
  type ThemeColorValue,
  type ThemeToken,
  themeTokenNames,
  tokenFacts,
  withFallbacks,
} from "@bonsai-agent/extension/themes";
import { BonsaiError, isRecord, jsonText, shortened } from "@bonsai-agent/messages";
import { clampChroma, converter, modeOkhsl, modeOklab, modeOklch, modeRgb, useMode } from "culori/fn";
import { z } from "zod";
import { didYouMean, fewOf } from "../../views/nearest-word.ts";

// Loaded with `import()` where there is a file of a theme: nobody else waits for the library of colours.

for (const mode of [modeRgb, modeOklab, modeOklch, modeOkhsl] as const) useMode(mode as typeof modeRgb);
const toRgb = converter("rgb");

const colorSchema = z.union([z.string(), z.int().min(0).max(255)]).meta({ id: "color" });

const colorsSchema = z.strictObject(
  Object.fromEntries(
    themeTokenNames.map((token) => {
      const { fallback, meaning } = tokenFacts(token);
      const color = fallback === undefined ? colorSchema : colorSchema.optional();
      const otherwise = fallback === undefined ? "" : `; default: ${fallback}`;
      return [token, color.describe(`${meaning}${otherwise}`)] as const;
    }),
  ),
);

/** In UTF-16 units; a row of the list of themes shows less of it. */
const MOST_NAME = 100;

/** A theme as its file has it; the JSON Schema is published from it. */
export const themeFileSchema = z.strictObject({
  $schema: z.string().optional().describe("Path of the JSON schema, for editors"),
  name: z
    .string()
    .max(MOST_NAME)
    // A choice is one line, and is read without the space around it.
    .regex(/^(?!\s)[^/\p{Cc}\p{Zl}\p{Zp}]+(?<!\s)$/u)
    .describe(
      "Name of the theme in settings, without slashes, control characters or surrounding space. The name auto is reserved",
    ),
  appearance: z
    .enum(["dark", "light"])
    .optional()
    .describe("The terminal background the theme is made for. Default: derived from the colours"),
  vars: z.record(z.string(), colorSchema).optional().describe("Your own named colours"),
  colors: colorsSchema.describe(
    'Each value is a colour: "#rgb" or "#rrggbb", "oklch(62% 0.1 200)", "okhsl(250 60% 55%)", a number from 0 to 255, a name from vars, or "" for the terminal\'s own colour',
  ),
  export: z
    .strictObject({
      pageBg: colorSchema.optional(),
      cardBg: colorSchema.optional(),
      infoBg: colorSchema.optional(),
    })
    .optional()
    .describe("Backgrounds for exported pages in pi. Bonsai ignores them"),
});

type ThemeFile = z.output<typeof themeFileSchema>;

/** More than any theme has; what is larger is something else. */
const MOST_BYTES = 256 * 1024;

/** Reads the file of a theme. @throws BonsaiError `theme_invalid`, which names the file, the key, what was found and what is allowed */
export async function readThemeFile(path: string): Promise<ThemeColors> {
  const text = await fileText(path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(path, `it is not valid JSON: ${(cause as Error).message}`, { cause });
  }
  return { ...parseTheme(value, path), path };
}

async function fileText(path: string): Promise<string> {
  // What is opened could be a pipe, which nobody may ever write to.
  if (!(await stat(path)).isFile()) throw invalid(path, "it is not a file");
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_BYTES + 1));
    if (bytesRead > MOST_BYTES)
      throw invalid(path, `it is larger than ${MOST_BYTES / 1024} KB, the maximum for a theme`);
    const bytes = buffer.subarray(0, bytesRead);
    if (bytes.includes(0)) throw invalid(path, "it is not a text file");
    return bytes.toString("utf8").replace(/^\ufeff/, "");
  } finally {
    await file.close();
  }
}

/** @param file stands in the error. @throws BonsaiError `theme_invalid` */
export function parseTheme(value: unknown, file: string): ThemeColors {
  const { success, data, error } = themeFileSchema.safeParse(value);
  if (!success) throw invalid(file, ...problemOf(value, error.issues));
  if (data.name === "auto") throw invalid(file, 'name is "auto", which is reserved. Choose another name');
  const colors = settledColors(data, file);
  return { name: data.name, appearance: data.appearance ?? appearanceOf(colors), colors };
}

function settledColors(theme: ThemeFile, file: string): ThemeColors["colors"] {
  const { vars = {}, colors, export: page = {} } = theme;
  const given: Vars = { vars, file, settled: new Map() };
  const settled: Partial<Record<ThemeToken, ThemeColorValue>> = {};
  for (const [name, value] of Object.entries(vars)) settle(`vars.${name}`, value, given);
  for (const token of themeTokenNames) {
    const value = colors[token];
    if (value !== undefined) settled[token] = settle(`colors.${token}`, value, given);
  }
  for (const [name, value] of Object.entries(page))
    if (value !== undefined) settle(`export.${name}`, value, given);
  return withFallbacks(settled);
}

interface Vars {
  vars: Readonly<Record<string, string | number>>;
  file: string;
  /** Of vars that were followed already: a long way is gone once. */
  settled: Map<string, ThemeColorValue>;
}

/** The colour that a value leads to, from variable to variable. */
function settle(key: string, value: string | number, given: Vars): ThemeColorValue {
  const way = new Set<string>();
  let next = value;
  let color = written(key, next, given);
  while (color === undefined) {
    const name = String(next);
    if (way.has(name))
      throw invalid(
        given.file,
        `${key} refers to itself in vars: ${fewOf([...way, name].map(shownText), " → ")}`,
      );
    way.add(name);
    next = variable(key, name, given);
    color = given.settled.get(name) ?? written(key, next, given);
  }
  for (const name of way) given.settled.set(name, color);
  return color;
}

/** A value that leads nowhere else; undefined for the name of a variable. */
function written(key: string, value: string | number, { file }: Vars): ThemeColorValue | undefined {
  if (typeof value === "number" || value === "") return value;
  if (!/^#|\(/.test(value)) return undefined;
  const color = mixed(value);
  if (color !== undefined) return color;
  throw invalid(file, `${key} is ${shownText(jsonText(value))}, but must be ${allowedColors}`);
}

function variable(key: string, name: string, { vars, file }: Vars): string | number {
  const found = Object.hasOwn(vars, name) ? vars[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(vars);
  const allowed = names.length === 0 ? "vars is empty" : `vars contains ${fewOf(names.map(shownText))}`;
  const problem = `${key} is ${shownText(jsonText(name))}, but must be ${allowedColors}. ${allowed}`;
  throw invalid(file, problem, { meant: didYouMean(name, names) });
}

const allowedColors =
  '#rgb, #rrggbb, oklch(62% 0.1 200), okhsl(250 60% 55%), a number from 0 to 255, a name from vars, or ""';

const number = String.raw`(-?\d*\.?\d+)`;
const oklch = new RegExp(String.raw`^oklch\(\s*${number}(%?)\s+${number}(%?)\s+${number}(?:deg)?\s*\)$`, "i");
const okhsl = new RegExp(String.raw`^okhsl\(\s*${number}(?:deg)?\s+${number}%?\s+${number}%?\s*\)$`, "i");

/** A colour that is written out; undefined for what is none. */
function mixed(text: string): Rgb | undefined {
  const [, short, long] = /^#(?:([\da-f]{3})|([\da-f]{6}))$/i.exec(text) ?? [];
  const hex = long ?? short?.replace(/./g, "$&$&");
  if (hex !== undefined) {
    const [r, g, b] = [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as [
      number,
      number,
      number,
    ];
    return { r, g, b };
  }
  return ofOklch(oklch.exec(text)) ?? ofOkhsl(okhsl.exec(text));
}

function ofOklch(found: RegExpExecArray | null): Rgb | undefined {
  if (found === null) return undefined;
  const [, lightness, isShare, chroma, isChromaShare, hue] = found;
  const l = Number(lightness) / (isShare === "" ? 1 : 100);
  const c = Number(chroma) * (isChromaShare === "" ? 1 : 0.004);
  if (l < 0 || l > 1 || c < 0) return undefined;
  return bytes(toRgb(clampChroma({ mode: "oklch", l, c, h: Number(hue) }, "oklch")));
}

function ofOkhsl(found: RegExpExecArray | null): Rgb | undefined {
  if (found === null) return undefined;
  const [h, s, l] = found.slice(1).map(Number) as [number, number, number];
  if (s < 0 || s > 100 || l < 0 || l > 100) return undefined;
  return bytes(toRgb({ mode: "okhsl", h, s: s / 100, l: l / 100 }));
}

function bytes({ r, g, b }: Rgb): Rgb {
  const byte = (share: number) => Math.round(Math.min(1, Math.max(0, share)) * 255);
  return { r: byte(r), g: byte(g), b: byte(b) };
}

/** What is wrong, of the first thing that is; the tokens that are missing all at once. */
function problemOf(
  value: unknown,
  issues: readonly z.core.$ZodIssue[],
): [problem: string, more?: { meant: string }] {
  const unknown = issues.find((each) => each.code === "unrecognized_keys");
  if (unknown !== undefined) return unknownKey(unknown.keys[0]!, unknown.path.join("."));
  const issue = issues[0]!;
  const at = (path: readonly PropertyKey[]) =>
    path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[String(key)] : undefined), value);
  const missing = issues.filter(
    ({ path }) => path[0] === "colors" && path.length === 2 && at(path) === undefined,
  );
  if (missing.length > 0) return [`colors has no ${fewOf(missing.map(({ path }) => String(path[1])))}`];
  const key = issue.path.join(".");
  const found = shownText(jsonText(at(issue.path)) || "missing");
  if (key === "") return [`the content is ${found}, but must be an object`];
  return [`${key} is ${found}, but must be ${allowedAt(issue.path)}`];
}

function unknownKey(name: string, above: string): [problem: string, more: { meant: string }] {
  const allowed =
    above === "" ? Object.keys(themeFileSchema.shape) : above === "colors" ? themeTokenNames : pageKeys;
  const key = shownText(above === "" ? name : `${above}.${name}`);
  const meant = didYouMean(name, allowed);
  // There are many: who is told the one that was meant need not read them all.
  return [
    meant === "" ? `${key} is unknown. Known keys: ${allowed.join(", ")}` : `${key} is unknown`,
    { meant },
  ];
}

const pageKeys = ["pageBg", "cardBg", "infoBg"];

function allowedAt([first, second]: readonly PropertyKey[]): string {
  if (first === "name")
    return `a text of up to ${MOST_NAME} characters, without slashes, control characters or surrounding space`;
  if (first === "appearance") return '"dark" or "light"';
  if (first === "$schema") return "a text";
  return second === undefined ? "an object" : allowedColors;
}

function invalid(
  file: string,
  problem: string,
  { meant = "", ...more }: { meant?: string; cause?: unknown } = {},
): BonsaiError {
  return new BonsaiError({
    /** A theme file is not valid JSON, or has an unknown key or colour. */
    code: "theme_invalid",
    message: `${file}: ${problem}.${meant}`,
    hint: "Correct the file; `theme.schema.json` of bonsai-agent lists every key.",
    ...more,
  });
}

function shownText(text: string): string {
  return shortened(text, 60);
}
