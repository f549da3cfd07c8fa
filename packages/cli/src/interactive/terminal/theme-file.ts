import {
  appearanceOf,
  type Rgb,
  type ThemeColors,
  type ThemeColorValue,
  themeTokenNames,
  tokenFacts,
  withFallbacks,
} from "@bonsai-agent/extension/themes";
import { BonsaiError, jsonText, shortened } from "@bonsai-agent/messages";
import { parseSettings } from "@bonsai-agent/messages/host";
import { clampChroma, converter, modeOkhsl, modeOklab, modeOklch, modeRgb, parse, useMode } from "culori/fn";
import { z } from "zod";
import { readJsonFile } from "../../call/json-file.ts";
import { didYouMean } from "../../views/nearest-word.ts";

// Imported only if there is a theme file: the colour library would delay every start.

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

/** A theme file. The published JSON Schema is made of it. */
export const themeFileSchema = z.strictObject({
  $schema: z.string().optional().describe("Path of the JSON schema, for editors"),
  name: z
    .string()
    .regex(
      /^(?!\s)[^/\p{Cc}\p{Zl}\p{Zp}]{1,100}(?<!\s)$/u,
      "a text of up to 100 characters, without slashes, control characters or surrounding space",
    )
    .refine((name) => name !== "auto", "another name: auto is reserved")
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

/** @throws BonsaiError `theme_invalid`, `settings_unreadable` */
export function readThemeFile(path: string): ThemeColors {
  return { ...parseTheme(readJsonFile(path), path), path };
}

/** @param file for the error. @throws BonsaiError `theme_invalid` */
export function parseTheme(value: unknown, file: string): ThemeColors {
  const {
    name,
    appearance,
    vars = {},
    colors: given,
  } = parseSettings(themeFileSchema, value, {
    file,
    error: invalid,
  });
  const resolved = Object.entries(given).map(([token, color]): [string, ThemeColorValue] => {
    const found = resolveColor(color!, vars);
    if (found !== undefined) return [token, found];
    const meant = didYouMean(color, Object.keys(vars));
    throw invalid({
      message: `${file}: colors.${token} is ${shortened(jsonText(color), 60)}, but must be ${ALLOWED_COLORS}.${meant}`,
    });
  });
  const colors = withFallbacks(Object.fromEntries(resolved));
  return { name, appearance: appearance ?? appearanceOf(colors), colors };
}

/** Follows variables to a colour. Returns undefined for an unknown name or notation, or if the variables form a circle. */
function resolveColor(
  value: string | number,
  vars: Readonly<Record<string, string | number>>,
): ThemeColorValue | undefined {
  const names = new Set<string>();
  let color = value;
  while (typeof color === "string" && Object.hasOwn(vars, color) && !names.has(color)) {
    names.add(color);
    color = vars[color]!;
  }
  return typeof color === "number" || color === "" ? color : parseColor(color);
}

const ALLOWED_COLORS =
  '#rgb, #rrggbb, oklch(62% 0.1 200), okhsl(250 60% 55%), a number from 0 to 255, a name from vars, or ""';

function parseColor(text: string): Rgb | undefined {
  if (!/^#|^oklch\(|^okhsl\(/i.test(text)) return undefined;
  // CSS has no okhsl(); the library reads it as color(--okhsl …).
  const color = parse(text.replace(/^okhsl\(/i, "color(--okhsl ").replace(/deg\b/i, ""));
  if (color === undefined) return undefined;
  const { r, g, b } = toRgb(clampChroma(color, "oklch"));
  const byte = (share: number) => Math.round(Math.min(1, Math.max(0, share)) * 255);
  return { r: byte(r), g: byte(g), b: byte(b) };
}

function invalid(problem: { message: string; cause?: unknown }): BonsaiError {
  return new BonsaiError({
    /** A theme file has an unknown key or colour. */
    code: "theme_invalid",
    ...problem,
    hint: "Correct the file; `theme.schema.json` of bonsai-agent lists every key.",
  });
}
