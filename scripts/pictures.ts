import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import type { HeadlessTerminal } from "../packages/cli/test/interactive/headless-terminal.ts";
import { drawStill, rowsOf } from "./pictures/draw.ts";
import { drawPage } from "./pictures/page-pictures.ts";
import { Studio } from "./pictures/studio.ts";

// `pnpm pictures [name…]` plays `bonsai` on a pseudo terminal and draws the screen into docs/pictures. `page` draws the
// web page of a session.
const folder = fileURLToPath(new URL("../docs/pictures", import.meta.url));

interface Scene {
  title: string;
  play(studio: Studio): Promise<HeadlessTerminal>;
  /** Text of the first drawn line. Default: the top of the screen. */
  from?: string;
}

const scenes: Readonly<Record<string, Scene>> = {
  demo: {
    title: "bonsai demo: a whole session on a scripted model, with its compactions",
    async play(studio) {
      const terminal = studio.open({ columns: 84, rows: 40 });
      await terminal.until("No model");
      terminal.type("/demo fast\n");
      await terminal.until("t /tree");
      return terminal;
    },
  },
  "tool-diff": {
    title: "Tools at work: a file read, an edit with its diff, a green test",
    async play(studio) {
      for (const [name, text] of Object.entries(shopFiles)) studio.write(join("shop", name), text);
      studio.writeModel(shopScenario);
      const terminal = studio.open({ columns: 80, rows: 41 }, "--model", "local/oak");
      await terminal.until("oak");
      terminal.type("Totals are a cent short. Fix it, keep the API.\n");
      await terminal.until("10.005");
      return terminal;
    },
  },
  tree: {
    title: "The session tree: a filter, and a branch folded",
    async play(studio) {
      const terminal = openWorkday(studio, { columns: 100, rows: 34 });
      await terminal.until("oak");
      terminal.type("/tree\n");
      await terminal.until("Session tree");
      terminal.press("tab");
      await terminal.until("no tools");
      terminal.press("end", "up", "left");
      return terminal;
    },
  },
  context: {
    title: "/context shows where the tokens are",
    from: "Context:",
    async play(studio) {
      const terminal = openWorkday(studio, { columns: 90, rows: 40 });
      await terminal.until("oak");
      terminal.type("/context\n");
      await terminal.until("free");
      return terminal;
    },
  },
};

/** A day of work with two branches and a compaction. */
function openWorkday(studio: Studio, size: { columns: number; rows: number }): HeadlessTerminal {
  const file = join(studio.home, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const [header = "", ...lines] = readFileSync(file, "utf8").split("\n");
  const here = JSON.stringify({ ...JSON.parse(header), cwd: studio.project });
  writeFileSync(file, [here, ...lines].join("\n"));
  studio.run("compact", file, "--digest");
  studio.writeModel({ turn: [], contextWindow: 200_000 });
  return studio.open(size, "--model", "local/oak", "--session", file);
}

const shopFiles = {
  "src/total.ts":
    "export function total(cents: number, rate: number): number {\n  return Math.floor(cents * rate) / 100;\n}\n",
  "src/total.test.ts":
    'import { total } from "./total.ts";\n\nif (total(1000.5, 1) !== 10.01) throw new Error("a cent is missing");\n',
};

const change = {
  oldText: "  return Math.floor(cents * rate) / 100;",
  newText: "  // Round half a cent up.\n  return Math.round(cents * rate) / 100;",
};

/** The agent finds and fixes a bug. */
const shopScenario = {
  contextWindow: 60_000,
  turn: [
    {
      text: "I first look at how totals are rounded.",
      calls: [{ name: "read", arguments: { path: "src/total.ts" } }],
    },
    {
      text: "`Math.floor` drops the last cent. I round half up instead.",
      calls: [{ name: "edit", arguments: { path: "src/total.ts", edits: [change] } }],
    },
    { calls: [{ name: "bash", arguments: { command: "node src/total.test.ts && echo all green" } }] },
    {
      text: "Fixed: **totals are rounded half up**, and the test is green.\n\n| price | before | after |\n| --- | ---: | ---: |\n| 10.005 | 10.00 | 10.01 |\n| 0.015 | 0.01 | 0.02 |",
    },
  ],
  title: [{ text: "Totals a cent short" }],
};

async function drawScene(name: string, { title, play, from = "" }: Scene): Promise<void> {
  const studio = new Studio();
  try {
    const terminal = await play(studio);
    await studio.still(terminal);
    const { columns, rows } = terminal;
    const written = terminal.written
      .join("")
      .replaceAll(studio.home, "~")
      .replaceAll(/(bonsai-demo)-\w{6}\b/g, "$1");
    const first = terminal
      .screen()
      .split("\n")
      .findIndex((line) => line.includes(from));
    const drawn = (await rowsOf({ written, columns, rows })).slice(Math.max(0, first - 1));
    const svg = drawStill(drawn, columns, title);
    writeFileSync(join(folder, `${name}.svg`), svg);
    console.log(`docs/pictures/${name}.svg  ${Math.ceil(svg.length / 1000)} kB`);
  } finally {
    studio.close();
  }
}

const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : [...Object.keys(scenes), "page"];
mkdirSync(folder, { recursive: true });
for (const name of names) {
  const scene = scenes[name];
  if (scene !== undefined) await drawScene(name, scene);
  else if (name === "page") await drawPage(folder);
  else throw new Error(`Unknown picture ${name}. Pictures: ${Object.keys(scenes).join(", ")}, page.`);
}
