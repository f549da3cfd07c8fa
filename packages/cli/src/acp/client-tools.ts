import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { type CommandOperations, type EditorFiles, isInside } from "@bonsai-agent/agent/host";
import { raceAbort } from "@bonsai-agent/messages/host";
import { realPath } from "../call/paths.ts";
import type { ClientLink } from "./client-link.ts";

/** As much output as a client keeps of one command. */
const MAX_OUTPUT_BYTES = 10_000_000;

/** The client's files: unsaved changes are read, and changes appear in the editor. Only files of the project are there. */
export function clientFiles(link: ClientLink, cwd: string): EditorFiles {
  const { readTextFile, writeTextFile } = link.capabilities.fs ?? {};
  const { client } = link;
  const isShared = (path: string) => isInside(realPath(cwd), path);
  return {
    ...(readTextFile && {
      async read(path, signal) {
        if (!isShared(path)) return undefined;
        const { sessionId } = link;
        // A file that the editor refuses, such as an ignored one, is read from the disk.
        const read = await client
          .request("fs/read_text_file", { sessionId, path }, until(signal))
          .catch(() => undefined);
        return read?.content;
      },
    }),
    ...(writeTextFile && {
      async write(path, content, signal) {
        if (!isShared(path)) return false;
        await mkdir(dirname(path), { recursive: true });
        const file = { sessionId: link.sessionId, path, content };
        await client.request("fs/write_text_file", file, until(signal));
        return true;
      },
    }),
  };
}

/** A client may never answer: after the signal, nothing waits for it. */
function until(signal: AbortSignal) {
  return { cancellationSignal: signal, stopWaitingOnCancel: true };
}

/** Runs commands in terminals of the client. @param onTerminal shows the terminal in the tool's call */
export function clientCommands(
  link: ClientLink,
  onTerminal: (toolCallId: string, terminalId: string) => void,
): CommandOperations {
  return {
    async exec(command, cwd, { onData, signal, timeout, env = {} }) {
      const own = Object.entries(env).filter(([name, value]) => value !== process.env[name]);
      await using terminal = await link.client.createTerminal({
        ...{ sessionId: link.sessionId, command: "bash", args: ["-c", command], cwd },
        env: own.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
        outputByteLimit: MAX_OUTPUT_BYTES,
      });
      onTerminal(env.BONSAI_CALL_ID ?? "", terminal.id);
      const limit = timeout === undefined ? [] : [AbortSignal.timeout(timeout * 1_000)];
      const stopped = AbortSignal.any([signal, ...limit]);
      const exit = await raceAbort(terminal.waitForExit(), stopped, () => undefined);
      if (exit === undefined) await terminal.kill();
      const { output } = await terminal.currentOutput();
      onData(Buffer.from(output));
      if (exit === undefined) throw new Error(signal.aborted ? "aborted" : `timeout:${timeout}`);
      // A command that a signal ended has no code: shells count it as failed.
      return { exitCode: exit.exitCode ?? (exit.signal == null ? null : 1) };
    },
  };
}
