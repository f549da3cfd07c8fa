import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "./call/sample-session.ts";
import { type CliRun, type RunCliOptions, runCli } from "./run-cli.ts";

/** Writes extensions into a folder to stand in; the events that they tell of end up in `told`. */
export function withExtensions(extensions: Record<string, string>) {
  const cwd = testFolder();
  const home = join(cwd, "home");
  for (const [name, text] of Object.entries(extensions)) {
    mkdirSync(join(cwd, name, ".."), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  const run = (argv: readonly string[], options: RunCliOptions = {}): Promise<CliRun> =>
    runCli(argv, { cwd, ...options, env: { BONSAI_HOME: home, ...options.env } });
  const json = async <Report>(...argv: string[]): Promise<Report & { code: number; stderr: string }> => {
    const { code, stdout, stderr } = await run([...argv, "--json"]);
    return { ...JSON.parse(stdout), code, stderr };
  };
  const told = () => {
    const file = join(cwd, "told.txt");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  };
  return { cwd, home, run, json, told };
}

/** Tells of every event in a file, with what `say` makes of `event` and `ctx`. */
export function teller(say = "event.type", body = ""): string {
  return `
    import { appendFileSync } from "node:fs";
    const names = ["session_start", "session_shutdown", "session_before_mask", "session_mask", "session_before_compact",
      "session_compact", "session_compact_failed", "session_compact_undo", "auto_compaction_start", "auto_compaction_end", "session_before_tree",
      "session_tree"] as const;
    export default (bonsai: any) => {
      for (const name of names) bonsai.on(name, (event: any, ctx: any) => {
        appendFileSync(ctx.cwd + "/told.txt", ${say} + "\\n");
      });
      ${body}
    };`;
}

export function throwing(event: string): string {
  return `export default (bonsai: any) => bonsai.on("${event}", () => { throw new Error("it broke"); });`;
}
