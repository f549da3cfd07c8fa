import { ExitCode } from "./call/invocation.ts";
import { bonsaiVersion } from "./version.ts";

/** Then the process ends, even if a reader stopped reading or an extension left something running. */
const endGraceMs = 2_000;
const argv = process.argv.slice(2);
if (argv.length === 1 && ["--version", "-V", "-v"].includes(argv[0]!)) printVersion();
else await runProgram();

/** Loads nothing else, because scripts ask for the version often. */
function printVersion(): void {
  process.stdout.write(`${bonsaiVersion()}\n`);
}

async function runProgram(): Promise<void> {
  const [{ run, wantsJson }, { interruptRunning, processIo }] = await Promise.all([
    import("./program.ts"),
    import("./call/io.ts"),
  ]);
  const unwritten = firstWriteError(() => interruptRunning("The program that reads the output closed it."));
  const io = processIo();
  process.exitCode = await run(argv, io);
  if (process.exitCode === ExitCode.cancelled) setTimeout(() => process.exit(), endGraceMs).unref();
  const error = await unwritten();
  setTimeout(() => process.exit(), endGraceMs).unref();
  if (error === undefined) return;
  const { reportFailure } = await import("./call/failure.ts");
  process.exitCode = reportFailure(error, io, wantsJson(argv));
}

/**
 * Watches stdout. The returned function waits until everything is written.
 * @param interrupt interrupts the running work; returns false if there is none
 */
function firstWriteError(interrupt: () => boolean): () => Promise<Error | undefined> {
  let first: Error | undefined;
  // Extensions later get another `write`.
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // The reader left, as in `bonsai session tree … | head`.
    if (error.code !== "EPIPE") first ??= error;
    // Interrupted work reports its end.
    else if (!interrupt()) process.exit(process.exitCode ?? 0);
  });
  // Without a listener, an error would end the process.
  process.stderr.on("error", () => {});
  // The event comes a moment after the callback.
  const settle = (resolve: (error: Error | undefined) => void) => setImmediate(() => resolve(first));
  return () => new Promise((resolve) => write("", () => settle(resolve)));
}
