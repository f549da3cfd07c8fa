import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { drawFilm } from "./pictures/film.ts";
import { drawPage } from "./pictures/page-pictures.ts";
import { recordDemo } from "./pictures/record-demo.ts";
import { scenes } from "./pictures/scenes.ts";
import { drawStill } from "./pictures/still.ts";
import { Studio } from "./pictures/studio.ts";

// `pnpm pictures [name…]`: plays `bonsai` on a pseudo terminal and draws the screen into docs/pictures. `page` draws the
// web page of a session.
const folder = fileURLToPath(new URL("../docs/pictures", import.meta.url));
const wanted = process.argv.slice(2);
const names = [...scenes.map(({ name }) => name), "demo", "page"];
const unknown = wanted.find((name) => !names.includes(name));
if (unknown !== undefined) throw new Error(`Unknown picture ${unknown}. Pictures: ${names.join(", ")}.`);

mkdirSync(folder, { recursive: true });
for (const { name, title, play } of scenes)
  await inStudio(name, async (studio) => {
    const { recorder, rows } = await play(studio);
    return drawStill({ rows, columns: recorder.columns, title });
  });
await inStudio("demo", async (studio) => drawFilm(await recordDemo(studio)));
if (wanted.length === 0 || wanted.includes("page")) await drawPage(folder);

async function inStudio(name: string, draw: (studio: Studio) => Promise<string>): Promise<void> {
  if (wanted.length > 0 && !wanted.includes(name)) return;
  const studio = new Studio();
  try {
    const svg = await draw(studio);
    writeFileSync(join(folder, `${name}.svg`), svg);
    console.log(`docs/pictures/${name}.svg  ${Math.ceil(svg.length / 1000)} kB`);
  } finally {
    await studio.close();
  }
}
