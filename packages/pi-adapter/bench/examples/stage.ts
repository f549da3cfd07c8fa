import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { HeadlessTerminal } from "../../../cli/test/interactive/headless-terminal.ts";
import { type ModelServer, modelServer, type ScriptedAnswer } from "./model-server.ts";

/** A terminal with a running example. */
export interface StageOptions {
  /** Behind `bonsai`, before the example and the model. `{project}` is the project's folder, `{folder}` that of all. */
  argv?: readonly string[];
  /** Default `local/model-1`. */
  model?: string;
  /** By path: `project/…`, `bonsai/…` for the agent's own folder, `home/…`. */
  files?: Readonly<Record<string, string>>;
  /** Programs of these names are shell scripts with these texts. */
  programs?: Readonly<Record<string, string>>;
  env?: Readonly<Record<string, string>>;
  /** A shell script, run in the project. */
  setup?: string;
  settings?: object;
  answers?: readonly ScriptedAnswer[];
}

/** The command on a pseudo terminal, with a model, a project and a home of its own. */
export interface Stage {
  readonly terminal: HeadlessTerminal;
  readonly server: ModelServer;
  readonly folder: string;
  readonly project: string;
  /** The lines of all session files. */
  stored(): string;
  /** The exit code; rejects where it does not end. */
  readonly ended: Promise<number>;
  close(): Promise<void>;
}

const reroute = new URL("reroute.mjs", import.meta.url).href;

/**
 * @param program the installed command
 * @param example a file or folder: a copy of it is loaded
 */
export async function openStage(program: string, example: string, options: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-examples-"));
  const server = await modelServer(options.answers ?? []);
  const [project, home, bonsai, bin] = ["project", "home", "bonsai", "bin"].map((name) => join(folder, name));
  for (const made of [project!, home!, bonsai!, bin!]) mkdirSync(made);
  const extension = copyOf(example, join(folder, "extension"));
  writeBelow(bonsai!, {
    "models.json": JSON.stringify(modelsAt(server.url)),
    "settings.json": JSON.stringify({
      titles: false,
      theme: "dark",
      index: { enabled: false },
      ...options.settings,
    }),
  });
  writeBelow(folder, options.files ?? {});
  for (const [name, script] of Object.entries(options.programs ?? {})) {
    writeFileSync(join(bin!, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin!, name), 0o755);
  }
  const env = environment({ folder, server, options });
  if (options.setup !== undefined)
    execFileSync("sh", ["-ec", options.setup], { cwd: project!, env, stdio: "pipe" });
  const named = (text: string) => text.replaceAll("{project}", project!).replaceAll("{folder}", folder);
  const argv = [
    ...(options.argv ?? []).map(named),
    "-e",
    extension,
    "--model",
    options.model ?? "local/model-1",
  ];
  return {
    folder,
    project: project!,
    server,
    ...run([program, ...argv], { project: project!, env, bonsai: bonsai!, folder, server }),
  };
}

function run(
  argv: readonly string[],
  {
    project,
    env,
    bonsai,
    folder,
    server,
  }: { project: string; env: Record<string, string>; bonsai: string; folder: string; server: ModelServer },
): Pick<Stage, "terminal" | "stored" | "ended" | "close"> {
  const [columns, rows] = [120, 40];
  const terminal = new HeadlessTerminal({ columns, rows });
  const pty = spawn(process.execPath, [...argv], { cols: columns, rows, cwd: project, env });
  terminal.start(
    (data) => pty.write(data),
    () => {},
  );
  pty.onData((data) => terminal.write(data));
  const ended = new Promise<number>((resolve) =>
    pty.onExit(({ exitCode }) => {
      terminal.leave(`bonsai ended with ${exitCode}`);
      resolve(exitCode);
    }),
  );
  return {
    terminal,
    ended,
    stored: () =>
      filesBelow(join(bonsai, "sessions"))
        .map((file) => readFileSync(file, "utf8"))
        .join("\n"),
    async close() {
      terminal.stop();
      pty.kill("SIGKILL");
      await ended;
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function modelsAt(url: string): object {
  const model = (id: string) => ({ id, contextWindow: 200_000, maxOutputTokens: 8_000, reasoning: true });
  return {
    providers: [
      { provider: "local", baseUrl: `${url}/v1`, models: [model("model-1"), model("model-2")] },
      {
        provider: "openai",
        baseUrl: `${url}/v1`,
        models: [model("gpt-5.2")],
      },
      { provider: "google", baseUrl: `${url}/v1`, api: "openai-chat", models: [model("gemini-2.5-flash")] },
    ],
  };
}

function environment({
  folder,
  server,
  options,
}: {
  folder: string;
  server: ModelServer;
  options: StageOptions;
}): Record<string, string> {
  const {
    CI: _ci,
    NO_COLOR: _color,
    NODE_OPTIONS: _options,
    ...inherited
  } = process.env as Record<string, string>;
  return {
    ...inherited,
    HOME: join(folder, "home"),
    BONSAI_HOME: join(folder, "bonsai"),
    PATH: `${join(folder, "bin")}:${inherited.PATH}`,
    TERM: "xterm-256color",
    TERM_PROGRAM: "vscode",
    SHELL: "/bin/sh",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@example.org",
    GIT_COMMITTER_NAME: "A",
    GIT_COMMITTER_EMAIL: "a@example.org",
    OPENAI_API_KEY: "key",
    GEMINI_API_KEY: "key",
    GOOGLE_API_KEY: "key",
    BENCH_SERVER: server.url,
    // An example can start `bonsai` too.
    NODE_OPTIONS: `--no-warnings --import=${reroute}`,
    ...options.env,
  };
}

/** A folder with dependencies gets them from the registry. */
function copyOf(example: string, folder: string): string {
  const isFile = existsSync(`${example}.ts`);
  const copy = join(folder, isFile ? "index.ts" : "");
  cpSync(isFile ? `${example}.ts` : example, copy, { recursive: true });
  const manifest = join(folder, "package.json");
  if (existsSync(manifest) && /"dependencies"/.test(readFileSync(manifest, "utf8")))
    execFileSync("npm", ["install", "--omit=dev", "--no-audit", "--no-fund", "--ignore-scripts"], {
      cwd: folder,
      stdio: "pipe",
    });
  return copy;
}

function writeBelow(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));
}
