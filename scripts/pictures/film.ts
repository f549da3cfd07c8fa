import type { Row } from "./cells.ts";
import { drawRow, escaped } from "./draw-row.ts";
import { cell, margin, pictureSize } from "./measures.ts";
import type { Frame } from "./recorder.ts";
import { Styles } from "./styles.ts";

export interface FilmOptions {
  frames: readonly Frame[];
  columns: number;
  /** Of one loop, with the end standing. What was recorded is told in this time. */
  lengthMs: number;
  /** For those who cannot see it. */
  title: string;
}

/** Two frames are not closer; what changes faster is seen at once. */
const leastMs = 180;
/** While nothing is seen to move, no more time passes. */
const mostMs = 1_400;
/** The last frame can be read. */
const endMs = 5_000;

/**
 * A recording as a picture that moves by itself: all frames stand side by side, and the strip jumps from one to the next.
 * A line that is seen in several frames is drawn once.
 */
export function drawFilm({ frames, columns, lengthMs, title }: FilmOptions): string {
  const shown = shownFrames(frames, lengthMs);
  const styles = new Styles();
  /** Of each line that is seen, its name and its drawing. */
  const drawn = new Map<string, { id: string; svg: string }>();
  const { width, height } = pictureSize({ columns, rows: shown[0]!.rows.length });
  const strip = shown.map(({ rows }, at) => `<g transform="translate(${at * width})">${uses(rows)}</g>`);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${styles.sheet()}\n${motion(shown, width, lengthMs)}</style>`,
    `<defs><clipPath id="clip"><rect width="${width - 2 * margin}" height="${height}"/></clipPath>`,
    ...[...drawn.values()].map(({ svg }) => svg),
    "</defs>",
    `<rect class="paper" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    `<g transform="translate(${margin} ${margin})" clip-path="url(#clip)"><g class="strip">`,
    ...strip,
    "</g></g></svg>",
  ].join("\n")}\n`;

  function uses(rows: readonly Row[]): string {
    return rows
      .map((row, at) => (row.length === 0 ? "" : `<use href="#${named(row)}" y="${at * cell.height}"/>`))
      .join("");
  }

  function named(row: Row): string {
    const key = JSON.stringify(row);
    const known = drawn.get(key);
    if (known !== undefined) return known.id;
    const id = `r${drawn.size.toString(36)}`;
    drawn.set(key, { id, svg: `<g id="${id}">${drawRow(row, styles)}</g>` });
    return id;
  }
}

/** The frames that differ, at the times of the film. */
function shownFrames(frames: readonly Frame[], lengthMs: number): Frame[] {
  const kept: Frame[] = [];
  let before = "";
  let lastMs = frames[0]!.atMs;
  let atMs = 0;
  for (const [at, frame] of frames.entries()) {
    const next = frames[at + 1];
    const isPassing = next !== undefined && next.atMs - lastMs < leastMs;
    const looks = JSON.stringify(frame.rows);
    if (isPassing || looks === before) continue;
    if (kept.length > 0) atMs += Math.min(mostMs, frame.atMs - lastMs);
    kept.push({ atMs, rows: frame.rows });
    lastMs = frame.atMs;
    before = looks;
  }
  const scale = (lengthMs - endMs) / Math.max(1, atMs);
  return kept.map(({ atMs, rows }) => ({ atMs: atMs * scale, rows }));
}

function motion(frames: readonly Frame[], width: number, lengthMs: number): string {
  const steps = frames.map(({ atMs }, at) => {
    const percent = Math.round((atMs / lengthMs) * 10_000) / 100;
    return `${percent}%{transform:translateX(${-at * width}px)}`;
  });
  const last = -(frames.length - 1) * width;
  return [
    `@keyframes film{${steps.join("")}100%{transform:translateX(${last}px)}}`,
    // Where nothing moves, the end is seen: it shows the most.
    `.strip{transform:translateX(${last}px);animation:film ${lengthMs / 1000}s step-end infinite}`,
    "@media(prefers-reduced-motion:reduce){.strip{animation:none}}",
  ].join("\n");
}
