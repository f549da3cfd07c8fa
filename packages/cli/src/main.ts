import { ExitCode } from "./call/invocation.ts";
import { bonsaiVersion } from "./version.ts";

/** After a signal, a reader who stopped reading does not keep the process; nor does what an extension left running. */
const endGraceMs = 2_000;
const argv = process.argv.slice(2);
if (argv.length === 1 && ["--version", "-V", "-v"].includes(argv[0]!)) printVersion();
else await runProgram();

/** Before anything is loaded: scripts ask for the version often. */
function printVersion(): void {
  process.stdout.write(`${bonsaiVersion()}\n`);
}

async function runProgram(): Promise<void> {
  const [{ run, wantsJson }, { interruptRunning, processIo }, { hasProxy }] = await Promise.all([
    import("./program.ts"),
    import("./call/io.ts"),
    import("./call/proxy.ts"),
  ]);
  const unwritten = firstWriteError(() => interruptRunning("The program that reads the output closed it."));
  const io = processIo();
  // Load the library on demand: it takes a tenth of the start.
  if (hasProxy(io.env)) (await import("./call/proxy-dispatcher.ts")).dispatchThroughProxies(io.env);
  process.exitCode = await run(argv, io);
  if (process.exitCode === ExitCode.cancelled) setTimeout(() => process.exit(), endGraceMs).unref();
  const error = await unwritten();
  setTimeout(() => process.exit(), endGraceMs).unref();
  if (error === undefined) return;
  const { reportFailure } = await import("./call/failure.ts");
  process.exitCode = reportFailure(error, io, wantsJson(argv));
}

/**
 * Watches what is printed; the function it gives back waits until all of it is written.
 * @param interrupt ends what runs in good order; false where nothing does
 */
function firstWriteError(interrupt: () => boolean): () => Promise<Error | undefined> {
  let first: Error | undefined;
  // As it is now: extensions are given another one.
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // The reader left (`bonsai session tree … | head`): that is its right, not an error.
    if (error.code !== "EPIPE") first ??= error;
    // Work that was interrupted has said how it ended.
    else if (!interrupt()) process.exit(process.exitCode ?? 0);
  });
  // A closed stderr has no reader.
  process.stderr.on("error", () => {});
  // The event comes a moment after the callback.
  const settle = (resolve: (error: Error | undefined) => void) => setImmediate(() => resolve(first));
  return () => new Promise((resolve) => write("", () => settle(resolve)));
}
