import { readFileSync } from "node:fs";

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) printVersion();
else await runProgram();

/** Before anything is loaded: scripts ask for the version often. */
function printVersion(): void {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  process.stdout.write(`${manifest.version}\n`);
}

async function runProgram(): Promise<void> {
  process.stdout.on("error", endQuietly);
  const [{ run }, { processIo }] = await Promise.all([import("./program.ts"), import("./io.ts")]);
  process.exitCode = await run(argv, processIo());
}

/** The reader left (`bonsai tree … | head`): that is its right, not an error. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
}
