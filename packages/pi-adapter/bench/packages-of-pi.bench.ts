import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchTable, installCommand } from "@bonsai-agent/testkit";

/** Packages that many users of pi have; `PI_PACKAGES_OF=pi-subagents,pi-mermaid` for a few. */
const packages = process.env.PI_PACKAGES_OF?.split(",") ?? [
  ...["pi-subagents", "pi-web-access", "pi-mcp-adapter", "pi-markdown-preview", "pi-mermaid", "pi-aliases"],
  ...["pi-plan-mode", "pi-prompt-template-model", "@tmustier/pi-ralph-wiggum"],
  "@baochunli/pi-collaborating-agents",
];
/** The version of pi that the packages are compared in. */
const version = process.env.PI_VERSION ?? "1.5.2";
const LIMIT_MS = 120_000;

/** Writes the names that the extensions before it registered, and ends the program. */
const probe = `
import { writeFileSync } from "node:fs";
export default function (pi) {
  pi.on("session_start", () => {
    const isOwn = (tool) => !["builtin", "sdk"].includes(tool.sourceInfo?.source ?? "builtin");
    const commands = pi.getCommands().filter(({ source }) => source === "extension").map(({ name }) => name);
    const tools = pi.getAllTools().filter(isOwn).map(({ name }) => name);
    writeFileSync(process.env.PROBE_FILE, JSON.stringify({ commands: commands.sort(), tools: tools.sort() }));
    process.exit(0);
  });
}`;

/** Installs packages of pi from the registry, and loads each in the installed command and in pi. */
export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-pi-packages-"));
  try {
    writeFileSync(join(folder, "probe.mjs"), probe);
    const { program } = installCommand(folder);
    install(folder, "pi", `@earendil-works/pi-coding-agent@${version}`);
    const pi = join(folder, "pi/node_modules/@earendil-works/pi-coding-agent/dist/cli.js");
    // Commands and tools of pi itself do not count.
    const own = loaded(folder, pi);
    const rows = packages.map((name) => {
      install(folder, `packages/${name}`, name);
      const extension = join(folder, "packages", name, "node_modules", name);
      const there = without(loaded(folder, pi, extension), own);
      return rowOf(name, { here: loaded(folder, program, extension), there });
    });
    return {
      title: `${packages.length} packages of pi in the installed command, and in pi ${version}`,
      columns: ["package", "here", "in pi", "commands", "tools", "missing here"],
      rows,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function install(folder: string, place: string, name: string): void {
  const cwd = join(folder, place);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, "package.json"), "{}");
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--omit=dev"];
  execFileSync("npm", ["install", ...options, name], { cwd, stdio: "pipe" });
}

interface Loaded {
  ms: number;
  commands: string[];
  tools: string[];
  error?: string;
}

function without(loaded: Loaded, { commands, tools }: Loaded): Loaded {
  const isOther = (own: readonly string[]) => (name: string) => !own.includes(name);
  return {
    ...loaded,
    commands: loaded.commands.filter(isOther(commands)),
    tools: loaded.tools.filter(isOther(tools)),
  };
}

function loaded(folder: string, program: string, extension?: string): Loaded {
  const [home, file] = [mkdtempSync(join(folder, "home-")), join(folder, "probe.json")];
  rmSync(file, { force: true });
  const startedMs = performance.now();
  const extensions = [...(extension === undefined ? [] : [extension]), join(folder, "probe.mjs")];
  const args = ["-p", "--no-session", ...extensions.flatMap((path) => ["-e", path]), "Go."];
  const { stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: home,
    encoding: "utf8",
    input: "",
    timeout: LIMIT_MS,
    env: {
      ...process.env,
      HOME: home,
      BONSAI_HOME: join(home, "bonsai"),
      PROBE_FILE: file,
      OPENAI_API_KEY: "key",
    },
  });
  const ms = Math.round(performance.now() - startedMs);
  try {
    return { ms, ...(JSON.parse(readFileSync(file, "utf8")) as Pick<Loaded, "commands" | "tools">) };
  } catch {
    return { ms, commands: [], tools: [], error: stderr.trim().split("\n")[0] ?? "it ended" };
  }
}

function rowOf(name: string, { here, there }: { here: Loaded; there: Loaded }): string[] {
  const missing = (what: "commands" | "tools") => there[what].filter((each) => !here[what].includes(each));
  const shown = ({ ms, error }: Loaded) => error ?? `${ms} ms`;
  return [
    ...[name, shown(here), shown(there)],
    ...[
      `${here.commands.length} of ${there.commands.length}`,
      `${here.tools.length} of ${there.tools.length}`,
    ],
    [...missing("commands").map((command) => `/${command}`), ...missing("tools")].join(" ") || "nothing",
  ];
}
