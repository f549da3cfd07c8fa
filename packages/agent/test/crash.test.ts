import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openSession } from "@bonsai-agent/session";
import { seededRandom } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unpaired } from "./pairs.ts";
import { scriptedAgent } from "./scripted-agent.ts";

const program = fileURLToPath(new URL("fixtures/working-process.ts", import.meta.url));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-crash-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Lets an agent work on a file and kills it as soon as it has told so many things; resolves with what it told. */
async function killedAfter(lines: number, file: string): Promise<string[]> {
  const node = ["--conditions=@bonsai-agent/source", "--no-warnings", program, file];
  const child = spawn(process.execPath, node, { stdio: ["ignore", "pipe", "inherit"] });
  const told: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    told.push(line);
    if (told.length === lines) child.kill("SIGKILL");
  }
  return told;
}

const random = seededRandom(20);
/** `pnpm laws` kills at more points than the check. */
const kills = process.env.LAW_RUNS ? 8 : 2;
const stride = Math.floor(112 / kills);
const points = Array.from({ length: kills }, (_, at) => 1 + at * stride + random.int(stride));

test.each(points)(
  "a process that is killed after it told %i things has lost nothing of them",
  async (lines) => {
    const file = join(folder, `${lines}.jsonl`);
    const told = await killedAfter(lines, file);
    expect(told.length).toBeGreaterThanOrEqual(lines);
    const of = (kind: string) =>
      told.flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []));
    expect(of("failed")).toEqual([]);
    expect(of("asked").filter((onDisk) => onDisk !== "true")).toEqual([]);

    const session = openSession(file);
    expect(of("stored").filter((id) => !/^(custom_)?message$/.test(session.entry(id)?.type ?? ""))).toEqual(
      [],
    );
    expect(session.problems().filter(({ kind }) => kind !== "damaged_line")).toEqual([]);
    const run = scriptedAgent({ session, turn: [{ text: "here I am" }] });
    expect((await run.agent.prompt("are you still there?")).status).toBe("done");
    const { messages } = run.turns[0]!;
    expect(unpaired(messages)).toEqual([]);
    expect(unpaired(session.projection().items.map(({ message }) => message))).toEqual([]);
    await run.agent.close();
  },
);
