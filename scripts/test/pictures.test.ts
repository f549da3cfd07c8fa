import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { drawStill, rowsOf } from "../pictures/draw.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

async function drawn(written: string, title = ""): Promise<string> {
  return drawStill(await rowsOf({ written, columns: 20, rows: 2 }), 20, title);
}

test("draws words at their column, as wide as their cells", async () => {
  expect(await drawn("  ab c")).toContain('x="16.8" y="13.3" textLength="33.6">ab c</text>');
});

test("draws the character after a wide one two columns later", async () => {
  expect(await drawn("日x")).toMatch(/x="0"[^>]*>日<.*x="16.8"[^>]*>x</);
});

test("joins lines from cell to cell, and fills blocks", async () => {
  expect(await drawn("├──")).toContain('M12.6 9H8.4M12.6 9H16.8M21 9H16.8M21 9H25.2"');
  expect(await drawn("▄")).toContain('d="M0 9h8.4V18h-8.4z"');
});

test("keeps colours, marks and inverse cells, and escapes markup", async () => {
  const svg = await drawn("\x1b[1;31m<b>\x1b[0m \x1b[7minv\x1b[0m \x1b[38;5;114mgreen", "A & B");
  expect(svg).toContain("&#60;b&#62;");
  expect(svg).toContain("<title>A &#38; B</title>");
  expect(svg).toMatch(/\{fill:#e06c75;font-weight:700\}/);
  expect(svg).toContain("fill:#87d787");
  expect(svg).toMatch(/<rect class="\w+" x="33.6" width="25.2"/);
});

test("documents show every picture, and pictures are small and hold no local path", () => {
  const folder = join(root, "docs/pictures");
  const documents = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)]
    .filter((name) => name.endsWith(".md"))
    .map((name) => readFileSync(join(root, name), "utf8"))
    .join("\n");
  const pictures = readdirSync(folder);
  const shown = [...documents.matchAll(/\]\((?:docs\/)?pictures\/([\w.-]+)\)/g)].map(([, name]) => name);
  expect([...new Set(shown)].sort()).toEqual(pictures.sort());
  for (const name of pictures.filter((each) => each.endsWith(".svg"))) {
    const svg = readFileSync(join(folder, name), "utf8");
    expect(svg.length, name).toBeLessThan(40_000);
    expect(svg, name).not.toMatch(/\/(tmp|root|home|Users|work)\/(?!dev\/)/);
  }
});
