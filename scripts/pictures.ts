import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { drawStill } from "./pictures/draw.ts";
import { drawPage } from "./pictures/page-pictures.ts";
import { scenes } from "./pictures/scenes.ts";
import { Studio } from "./pictures/studio.ts";

// `pnpm pictures [name…]`: plays `bonsai` on a pseudo terminal and draws the screen into docs/pictures. `page` draws the
// web page of a session.
const folder = fileURLToPath(new URL("../docs/pictures", import.meta.url));
const wanted = process.argv.slice(2);
const names = [...scenes.map(({ name }) => name), "page"];
const unknown = wanted.find((name) => !names.includes(name));
if (unknown !== undefined) throw new Error(`Unknown picture ${unknown}. Pictures: ${names.join(", ")}.`);

mkdirSync(folder, { recursive: true });
for (const { name, title, play } of scenes) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const studio = new Studio();
  try {
    const { recorder, rows } = await play(studio);
    const svg = drawStill({ rows, columns: recorder.columns, title });
    writeFileSync(join(folder, `${name}.svg`), svg);
    console.log(`docs/pictures/${name}.svg  ${Math.ceil(svg.length / 1000)} kB`);
  } finally {
    await studio.close();
  }
}
if (wanted.length === 0 || wanted.includes("page")) await drawPage(folder);
