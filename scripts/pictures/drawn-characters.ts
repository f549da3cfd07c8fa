import { cell } from "./measures.ts";

/** Lines and blocks are drawn, so that they join in every font. */
export interface Drawn {
  /** What is stroked. */
  lines?: string;
  /** What is filled. */
  shape?: string;
  /** Of the stroke. */
  width?: number;
  /** Of shades. */
  opacity?: number;
}

const { width, height } = cell;
const middle = width / 2;
const center = height / 2;
const thin = 1.2;
const thick = 2.6;

/** To which sides the lines of a character go: left, right, up, down. */
const arms: Readonly<Record<string, string>> = {
  ...{ "─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "udr", "┤": "udl" },
  ...{ "┬": "lrd", "┴": "lru", "┼": "lrud", "╴": "l", "╵": "u", "╶": "r", "╷": "d" },
};
const heavyArms: Readonly<Record<string, string>> = { "━": "lr", "┃": "ud", "╸": "l", "╺": "r" };
const bends: Readonly<Record<string, [string, string]>> = {
  ...{ "╭": ["r", "d"], "╮": ["l", "d"], "╰": ["r", "u"], "╯": ["l", "u"] },
};
const doubles: Readonly<Record<string, [from: number, to: number, isUpright: boolean]>> = {
  ...{ "═": [0, width, false], "╞": [middle, width, true], "╡": [0, middle, true] },
};
const shades = ["░", "▒", "▓"];

/** @returns undefined for what is a letter or a sign of the font */
export function drawnCharacter(character: string, x: number): Drawn | undefined {
  const light = arms[character];
  if (light !== undefined) return { lines: armLines(light, x), width: thin };
  const heavy = heavyArms[character];
  if (heavy !== undefined) return { lines: armLines(heavy, x), width: thick };
  if (character === "┄" || character === "┈") return { lines: dashes(x), width: thin };
  const bend = bends[character];
  if (bend !== undefined) return { lines: bendLine(bend, x), width: thin };
  const double = doubles[character];
  if (double !== undefined) return { lines: doubleLines(double, x), width: thin };
  if (shades.includes(character))
    return { shape: box(x, 0, width, height), opacity: (shades.indexOf(character) + 1) / 4 };
  const shape = block(character, x);
  return shape === undefined ? undefined : { shape };
}

function end(arm: string, x: number): string {
  const ends: Record<string, [number, number]> = {
    ...{ l: [x, center], r: [x + width, center], u: [x + middle, 0], d: [x + middle, height] },
  };
  return ends[arm]!.map(short).join(" ");
}

function armLines(sides: string, x: number): string {
  if (sides === "lr") return `M${short(x)} ${center}h${width}`;
  if (sides === "ud") return `M${short(x + middle)} 0v${height}`;
  return Array.from(sides, (arm) => `M${short(x + middle)} ${center}L${end(arm, x)}`).join("");
}

function bendLine([first, second]: [string, string], x: number): string {
  return `M${end(first, x)}Q${short(x + middle)} ${center} ${end(second, x)}`;
}

function doubleLines([from, to, isUpright]: [number, number, boolean], x: number): string {
  const line = (y: number) => `M${short(x + from)} ${y}h${short(to - from)}`;
  return `${line(center - 2)}${line(center + 2)}${isUpright ? armLines("ud", x) : ""}`;
}

function dashes(x: number): string {
  const step = width / 3;
  return [0, 1, 2].map((at) => `M${short(x + at * step)} ${center}h${short(step * 0.6)}`).join("");
}

function block(character: string, x: number): string | undefined {
  const code = character.codePointAt(0)!;
  if (character === "▀") return box(x, 0, width, height / 2);
  if (character === "▐") return box(x + middle, 0, middle, height);
  // From one eighth to all of the height, then from seven eighths of the width down to one.
  if (code >= 0x2581 && code <= 0x2588) {
    const tall = ((code - 0x2580) * height) / 8;
    return box(x, height - tall, width, tall);
  }
  if (code >= 0x2589 && code <= 0x258f) return box(x, 0, (width * (0x2590 - code)) / 8, height);
  return undefined;
}

/** What would be seen between two blocks where pixels are cut. */
const seam = 0.3;

function box(x: number, y: number, wide: number, tall: number): string {
  const width = short(wide + seam);
  return `M${short(x)} ${short(y)}h${width}v${short(tall + seam)}h-${width}z`;
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}
