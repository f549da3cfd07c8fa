import { Console } from "node:console";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { AgentNotice } from "@bonsai-agent/agent";
import {
  type ExtensionHost,
  type Extensions,
  type FindProblem,
  type FoundExtensions,
  findExtensions,
  hostModules,
  loadExtensions,
  uncaughtErrorNotice,
  type VirtualModules,
} from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { piAdapter, piModules } from "@bonsai-agent/pi-adapter";
import { nearestWord } from "../views/nearest-word.ts";
import { printableLines } from "../views/terminal-text.ts";
import { type ExtensionChoice, isNamedByFlag } from "./extension-choice.ts";
import { firstPartyExtensions } from "./first-party.ts";
import { installedPackages } from "./installed-packages.ts";
import { ExitCode } from "./invocation.ts";

export { lifecycleNotice } from "@bonsai-agent/extension/host";

export interface StartExtensionsOptions {
  host: ExtensionHost;
  /** Called at each load. At a reload, settings and trust may have changed. */
  choice: (reason: "startup" | "reload") => ExtensionChoice;
  reservedCommands?: readonly string[];
}

/**
 * Finds and loads extensions. A failed one is a notice; a failed one of `-e` stops the call.
 * @throws BonsaiError for an extension of `-e`; then none is loaded
 */
export async function startExtensions({
  host,
  choice,
  reservedCommands = [],
}: StartExtensionsOptions): Promise<Extensions> {
  const first = choice("startup");
  const known = [first];
  // The notice of a failed extension would repeat the thrown error.
  let held: AgentNotice[] | undefined = [];
  const onNotice = (notice: AgentNotice) => {
    if (held === undefined) host.onNotice(notice);
    else held.push(notice);
  };
  redirectConsole();
  reportUncaughtErrors(host.onNotice);
  const extensions = await loadExtensions({
    // Keeps the getters of the host.
    host: Object.create(host, { onNotice: { value: onNotice, enumerable: true } }) as ExtensionHost,
    find: () => chosenExtensions(known.pop() ?? choice("reload")),
    reservedCommands,
    modules: virtualModules(),
    cacheFolder: join(first.home, "cache", "extensions"),
    adapter: piAdapter(),
  });
  const broken = extensions.failed.find(({ path }) => isNamedByFlag(first, path));
  if (broken !== undefined) {
    extensions.unload();
    throw broken.error;
  }
  const notices = held;
  held = undefined;
  for (const notice of notices) host.onNotice(notice);
  return extensions;
}

/** The extensions that a call wants, in load order. @throws BonsaiError `extension_not_found` for a path of `-e` */
export function chosenExtensions(choice: ExtensionChoice): FoundExtensions {
  const packages = choice.onlyFlags ? {} : { packages: installedPackages(choice.home) };
  const found = findExtensions({ ...choice, ...packages });
  const missing = found.problems.find(({ path }) => isNamedByFlag(choice, path));
  if (missing !== undefined) throw notFound(missing);
  return found;
}

function notFound({ path, message, hint }: FindProblem): BonsaiError {
  const names = firstPartyExtensions.map(({ name }) => name);
  const meant = existsSync(path) ? undefined : nearestWord(basename(path), names);
  const bundled =
    meant === undefined
      ? ""
      : `${meant} comes with Bonsai: run \`bonsai extension add ${meant}\` once, without -e. `;
  return new BonsaiError({
    /** `-e` names a path that is missing or is no extension. */
    code: "extension_not_found",
    message: message.includes(path) ? message : `${path}: ${message}`,
    hint: `${bundled}${hint}`,
  });
}

let notify: ExtensionHost["onNotice"] | undefined;
/** Repeated errors of a timer are one notice. */
const notified = new Set<string>();

/**
 * Turns an uncaught error of an extension into a notice, and the work continues. Any other ends the process, as
 * without this.
 */
function reportUncaughtErrors(onNotice: ExtensionHost["onNotice"]): void {
  if (notify === undefined) process.on("uncaughtException", caught);
  notify = onNotice;
}

function caught(error: unknown): void {
  const notice = uncaughtErrorNotice(error);
  if (notice !== undefined) {
    if (!notified.has(notice.message)) notify?.(notice);
    notified.add(notice.message);
    return;
  }
  // Another listener decides.
  if (process.listenerCount("uncaughtException") > 1) return;
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${printableLines(stack).join("\n")}\n`);
  process.exit(ExitCode.failed);
}

/** Standard output is for the answer or JSON lines, so the output of extensions goes to standard error. */
function redirectConsole(): void {
  globalThis.console = new Console(process.stderr, process.stderr);
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** Modules that extensions import by name. Their folder may have no `node_modules`. */
export function virtualModules(): VirtualModules {
  return {
    ...piModules(),
    ...hostModules(),
    "@bonsai-agent/transcripts": () => import("@bonsai-agent/transcripts"),
  };
}
