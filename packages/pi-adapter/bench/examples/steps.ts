import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Seen } from "../../../cli/test/interactive/headless-terminal.ts";
import type { Stage } from "./stage.ts";

/** One thing that is done or looked for; it rejects where that does not come. */
export interface Step {
  /** As it stands in the table where it fails. */
  readonly what: string;
  run(stage: Stage): Promise<unknown>;
}

const within = 12_000;

async function until(holds: () => boolean): Promise<void> {
  const latestMs = performance.now() + within;
  while (!holds()) {
    if (performance.now() > latestMs) throw new Error("It never came.");
    await wait(50);
  }
}

const shown = (what: Seen) => (typeof what === "function" ? "as it should be" : String(what));

/** Types a text and sends it. */
export const say = (text: string): Step => ({
  what: `say ${text}`,
  async run({ terminal }) {
    terminal.type(text);
    // A list of completions that is on its way would take the key.
    await wait(200);
    terminal.press("enter");
  },
});

export const write = (text: string): Step => ({
  what: `write ${text}`,
  async run({ terminal }) {
    terminal.type(text);
    await wait(200);
  },
});

export const press = (...keys: string[]): Step => ({
  what: `press ${keys.join(", ")}`,
  async run({ terminal }) {
    for (const key of keys) {
      terminal.press(key);
      // Escape and a letter behind it would be one key.
      await wait(150);
    }
  },
});

/** The bytes that a terminal sends for a key without a name here. */
export const send = (data: string): Step => ({
  what: `send ${JSON.stringify(data)}`,
  run: async ({ terminal }) => terminal.send(data),
});

const seen = (screen: string, what: Seen) =>
  typeof what === "string"
    ? screen.includes(what)
    : typeof what === "function"
      ? what(screen)
      : what.test(screen);

/** Stands on the screen. */
export const see = (what: Seen): Step => ({
  what: `see ${shown(what)}`,
  run: ({ terminal }) => until(() => seen(terminal.screen(), what)),
});

export const gone = (what: Seen): Step => ({
  what: `no longer see ${shown(what)}`,
  run: ({ terminal }) => until(() => !seen(terminal.screen(), what)),
});

/** Was written to the terminal, sequences included. */
export const wrote = (what: RegExp): Step => ({
  what: `the terminal gets ${what}`,
  run: ({ terminal }) => until(() => what.test(terminal.written.join(""))),
});

export const titled = (what: RegExp): Step => ({
  what: `the window is called ${what}`,
  run: ({ terminal }) => until(() => what.test(terminal.title)),
});

/** Stands in a request that a model got. */
export const asked = (what: RegExp): Step => ({
  what: `the model is asked ${what}`,
  run: ({ server }) => until(() => server.asked().some((request) => what.test(request))),
});

/** The latest request of the model does not have it. */
export const unasked = (what: RegExp): Step => ({
  what: `the model is not asked ${what}`,
  run: ({ server }) => until(() => !what.test(server.asked().at(-1) ?? "")),
});

export const requests = (count: number): Step => ({
  what: `${count} requests`,
  async run({ server }) {
    await until(() => server.asked().length >= count);
    await wait(300);
    if (server.asked().length > count) throw new Error("There were more.");
  },
});

/** Stands in the session's file. */
export const stored = (what: RegExp): Step => ({
  what: `the session has ${what}`,
  run: ({ stored }) => until(() => what.test(stored())),
});

/** Stands in a file, by its path below the folder of all. */
export const file = (path: string, what: RegExp): Step => ({
  what: `${path} has ${what}`,
  run: ({ folder }) =>
    until(() => existsSync(join(folder, path)) && what.test(readFileSync(join(folder, path), "utf8"))),
});

/** Runs a shell command in the project. */
export const shell = (command: string): Step => ({
  what: `run ${command}`,
  run: async ({ project }) => execFileSync("sh", ["-ec", command], { cwd: project, stdio: "pipe" }),
});

export const ended: Step = {
  what: "bonsai ends",
  run: (stage) => Promise.race([stage.ended, wait(within).then(() => Promise.reject(new Error("It runs.")))]),
};
