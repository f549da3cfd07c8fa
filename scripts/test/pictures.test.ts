import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import xterm from "@xterm/headless";
import { expect, test } from "vitest";
import { rowsOf } from "../pictures/cells.ts";
import { drawRow } from "../pictures/draw-row.ts";
import { drawFilm } from "../pictures/film.ts";
import { drawStill } from "../pictures/still.ts";
import { Styles } from "../pictures/styles.ts";

async function screen(text: string, size = { columns: 20, rows: 2 }) {
  const terminal = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(text, resolve));
  return rowsOf(terminal.buffer.active, size);
}

async function drawn(text: string): Promise<string> {
  const [row] = await screen(text);
  return drawRow(row!, new Styles());
}

test("words stand at their column and are as wide as their cells", async () => {
  expect(await drawn("  ab c")).toContain('x="16.8" y="13.3" textLength="33.6">ab c</text>');
});

test("behind a wide character the next stands two columns on", async () => {
  expect(await drawn("日x")).toMatch(/class="m [^"]+" x="8.4"[^>]*>日<.*x="16.8"[^>]*>x</);
});

test("lines join from cell to cell, and blocks fill their share of it", async () => {
  expect(await drawn("├───")).toContain('M8.4 9h25.2"');
  expect(await drawn("▄")).toContain('d="M0 9h8.7v9.3h-8.7z"');
});

test("colours, marks and inverse cells are kept; what could be markup is not", async () => {
  const rows = await screen("\x1b[1;31m<b>\x1b[0m \x1b[7minv\x1b[0m \x1b[38;5;114mgreen");
  const svg = drawStill({ rows, columns: 20, title: "A & B" });
  expect(svg).toContain("&lt;b&gt;");
  expect(svg).toContain("<title>A &amp; B</title>");
  expect(svg).toMatch(/\{fill:#e06c75;font-weight:700\}/);
  expect(svg).toContain("fill:#87d787");
  expect(svg).toMatch(/<rect class="\w+" x="33.6" width="25.2"/);
});

test("a film draws a line once, however often it is seen", async () => {
  const frames = await Promise.all(
    ["one\r\nsame", "two\r\nsame"].map(async (text, at) => ({ atMs: at * 1_000, rows: await screen(text) })),
  );
  const svg = drawFilm({ frames, columns: 20, lengthMs: 10_000, title: "Film" });
  expect(svg.match(/>same</g)).toHaveLength(1);
  expect(svg.match(/<use /g)).toHaveLength(4);
  expect(svg).toContain("50%{transform:translateX(-196px)}");
  // Without animation, it shows its end.
  expect(svg).toContain(".strip{transform:translateX(-196px);");
});

test("every picture is in the gallery, small, and says nothing of the machine it was made on", () => {
  const folder = fileURLToPath(new URL("../../docs/pictures", import.meta.url));
  const gallery = readFileSync(join(folder, "README.md"), "utf8");
  const pictures = readdirSync(folder).filter((name) => name.endsWith(".svg"));
  expect([...gallery.matchAll(/\]\(([\w-]+\.svg)\)/g)].map(([, name]) => name).sort()).toEqual(
    pictures.sort(),
  );
  for (const name of pictures) {
    const svg = readFileSync(join(folder, name), "utf8");
    expect(svg.length, name).toBeLessThan(name === "demo.svg" ? 400_000 : 60_000);
    expect(svg, name).not.toMatch(/\/(tmp|root|home|Users|work)\/(?!dev\/)/);
  }
});

test("the film of the demonstration begins with something to see", () => {
  const svg = readFileSync(fileURLToPath(new URL("../../docs/pictures/demo.svg", import.meta.url)), "utf8");
  const [, first = ""] = /<g class="strip">\s*<g transform="translate\(0\)">(.*?)<\/g>/s.exec(svg) ?? [];
  expect(first.match(/<use /g)?.length).toBeGreaterThan(10);
});
