import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** What a process of its own is told to do. */
export interface LoadTask {
  way: "ours" | "jiti";
  /** Where the extension is written. */
  folder: string;
  /** URLs of the built package and of jiti. */
  extension: string;
  jiti: string;
  reloads: number;
}

export interface LoadMeasure {
  firstMs: number;
  /** Median. */
  reloadMs: number;
  heapBytesPerReload: number;
  residentBytesPerReload: number;
}

type Start = () => Promise<(round: number) => unknown>;

/** An extension of some 200 lines. */
function write(folder: string, round: number): void {
  const tools = Array.from({ length: 24 }, (_, at) => tool(at));
  writeFileSync(
    join(folder, "index.ts"),
    `import { z } from "zod";\nimport { round as local, describe } from "./local.ts";\n${tools.join("\n")}
export default (asked: number) => [asked, ${round}, local, z.object({ a: z.string() }).parse({ a: "b" }).a];\n`,
  );
  writeFileSync(
    join(folder, "local.ts"),
    `export const round: number = ${round};\nexport function describe(text: string): string {\n  return text.trim();\n}\n`,
  );
}

function tool(at: number): string {
  return `
interface Input${at} {
  path: string;
  count?: number;
}
export async function tool${at}({ path, count = ${at} }: Input${at}): Promise<string> {
  return describe(\`\${path} \${count}\`);
}`;
}

async function startOf({ way, folder, extension, jiti }: LoadTask): Promise<Start> {
  const path = join(folder, "index.ts");
  const { hostModules, importExtension } = await import(extension);
  const modules = { zod: hostModules().zod };
  if (way === "ours") return () => importExtension({ path, modules });
  const { createJiti } = await import(jiti);
  return async () => {
    const virtualModules = { zod: await modules.zod() };
    return createJiti(import.meta.url, { moduleCache: false, fsCache: false, virtualModules }).import(path, {
      default: true,
    });
  };
}

async function timed(task: LoadTask, start: Start, round: number): Promise<number> {
  write(task.folder, round);
  const startedMs = performance.now();
  const factory = await start();
  const elapsedMs = performance.now() - startedMs;
  const [asked, own, local] = factory(round) as number[];
  if (asked !== round || own !== round || local !== round) throw new Error(`Stale: ${asked} ${own} ${local}`);
  return elapsedMs;
}

export async function measureLoads(task: LoadTask): Promise<LoadMeasure> {
  const start = await startOf(task);
  const firstMs = await timed(task, start, 0);
  // The first ones fill caches.
  for (let round = 1; round <= 20; round++) await timed(task, start, round);
  const before = memory();
  const all: number[] = [];
  for (let round = 1; round <= task.reloads; round++) all.push(await timed(task, start, 20 + round));
  const after = memory();
  return {
    firstMs,
    reloadMs: all.sort((a, b) => a - b)[all.length >> 1] as number,
    heapBytesPerReload: (after.heapUsed - before.heapUsed) / task.reloads,
    residentBytesPerReload: (after.rss - before.rss) / task.reloads,
  };
}

function memory(): NodeJS.MemoryUsage {
  globalThis.gc?.();
  return process.memoryUsage();
}

const told = process.argv[2];
if (told !== undefined && import.meta.main) {
  console.log(JSON.stringify(await measureLoads(JSON.parse(told) as LoadTask)));
}
