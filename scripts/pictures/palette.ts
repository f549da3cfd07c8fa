/** Of the pictures, what a terminal's own colours are: they can be read on light and on dark pages alike. */
export const paper = "#16181d";
export const text = "#d7dae0";

const first16 = [
  ...["#3b404a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"],
  ...["#6b7280", "#ff8787", "#b5e890", "#ffd787", "#87c7ff", "#e0a3f5", "#7fd8e4", "#ffffff"],
];
const cubeSteps = [0, 95, 135, 175, 215, 255];

/** @param color a number of the 256 colours, or `0xrrggbb` */
export function colorOf(color: number, isRgb: boolean): string {
  if (isRgb) return hex([color >> 16, (color >> 8) & 255, color & 255]);
  if (color < 16) return first16[color]!;
  if (color >= 232) return hex([8 + (color - 232) * 10, 8 + (color - 232) * 10, 8 + (color - 232) * 10]);
  const cube = color - 16;
  return hex([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => cubeSteps[step]!));
}

function hex(parts: readonly number[]): string {
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
