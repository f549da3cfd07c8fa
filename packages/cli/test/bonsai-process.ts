import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { listSessions, openSession, type Session } from "@bonsai-agent/session";
import { onTestFinished } from "vitest";
import type { AgentProject } from "./agent-project.ts";
import { commandWords } from "./command-words.ts";

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A process of the command in a project, until the end of the test. */
export class Bonsai {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  #stdout = "";
  #stderr = "";
  #heard: () => void = () => {};

  constructor(
    project: Pick<AgentProject, "cwd" | "env">,
    argv: readonly string[],
    env: Record<string, string> = {},
  ) {
    const { cwd } = project;
    this.child = spawn(process.execPath, [...commandWords, ...argv], {
      cwd,
      env: { ...process.env, NO_COLOR: "1", ...project.env, ...env },
    });
    onTestFinished(() => void this.child.kill("SIGKILL"));
    this.child.stdout.on("data", (data: Buffer) => {
      this.#stdout += data;
      this.#heard();
    });
    this.child.stderr.on("data", (data: Buffer) => {
      this.#stderr += data;
      this.#heard();
    });
    this.ended = new Promise((resolve) => {
      this.child.once("close", (code, signal) =>
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }),
      );
    });
  }

  async printed(words: string): Promise<void> {
    while (!(this.#stdout + this.#stderr).includes(words)) await this.#more();
  }

  /** The groups of a pattern, once the output matches it. */
  async printedMatch(pattern: RegExp): Promise<Record<string, string>> {
    for (;;) {
      const found = pattern.exec(this.#stdout + this.#stderr);
      if (found !== null) return { ...found.groups };
      await this.#more();
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }
}

/** A tool call, then an answer that never comes. */
export const endless = {
  contextWindow: 100_000,
  turn: [{ calls: [{ name: "ls" }] }, { text: "never", delayMs: 3_600_000 }],
};

/** The latest session of a project. */
export function latest({ cwd, home }: AgentProject): Session {
  return openSession(listSessions({ cwd, home }).sessions[0]!.file);
}

export function roles(session: Session): string[] {
  return session.projection().items.map(({ message }) => message.role);
}

/** Runs a line of the shell in a project. `"$0" "$@"` in it is the command. */
export function runShell(project: AgentProject, line: string) {
  return spawnSync("sh", ["-c", line, process.execPath, ...commandWords], {
    cwd: project.cwd,
    env: { ...process.env, NO_COLOR: "1", ...project.env },
    encoding: "utf8",
  });
}
