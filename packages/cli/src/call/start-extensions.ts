import { Console } from "node:console";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { AgentNotice } from "@bonsai-agent/agent";
import {
  type ExtensionHost,
  type Extensions,
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
import { installedPackages } from "./installed-packages.ts";
import { ExitCode } from "./invocation.ts";

export { lifecycleNotice } from "@bonsai-agent/extension/host";

export interface StartExtensionsOptions {
  host: ExtensionHost;
  /** Asked again at each reload: settings and trust may have changed. */
  choice: () => ExtensionChoice;
  /** What is loaded first. */
  first: ExtensionChoice;
  /** Names of commands that the front end has itself. Default: none. */
  reservedCommands?: readonly string[];
}

/**
 * Finds and loads extensions. One that cannot be loaded is a notice; but who names it by `-e` wants it: then nothing
 * goes on without it.
 * @throws BonsaiError for one that `-e` names; then none is loaded
 */
export async function startExtensions(options: StartExtensionsOptions): Promise<Extensions> {
  const { host, first } = options;
  const found = chosenExtensions(first);
  const missing = found.problems.find(({ path }) => isNamedByFlag(first, path));
  if (missing !== undefined) throw notFound(missing, await meantName(missing.path));
  // Until it is known which of them an error repeats.
  let held: AgentNotice[] | undefined = [];
  const onNotice = (notice: AgentNotice) => {
    if (held === undefined) host.onNotice(notice);
    else held.push(notice);
  };
  keepOutputApart();
  surviveStrayErrors(host.onNotice);
  const extensions = await loadExtensions({
    host: withNotices(host, onNotice),
    find: findingAgain(found, options),
    reservedCommands: options.reservedCommands ?? [],
    modules: virtualModules(),
    cacheFolder: join(first.home, "cache", "extensions"),
    adapter: piAdapter(),
  });
  const named = new Set(found.extensions.filter(({ origin }) => origin === "flag").map(({ path }) => path));
  const broken = extensions.failed.find(({ path }) => named.has(path));
  const notices = held.filter(
    ({ message }) => broken === undefined || !message.includes(broken.error.message),
  );
  held = undefined;
  for (const notice of notices) host.onNotice(notice);
  if (broken === undefined) return extensions;
  extensions.unload();
  throw broken.error;
}

/** The extensions that a call asks for, in load order. */
export function chosenExtensions(choice: ExtensionChoice): FoundExtensions {
  const packages = choice.onlyFlags ? {} : { packages: installedPackages(choice.home) };
  return findExtensions({ ...choice, ...packages });
}

/** What was found first, and from then on what is found then. Settings that became unreadable leave the choice as it was. */
function findingAgain(
  found: FoundExtensions,
  { host, choice, first }: StartExtensionsOptions,
): () => FoundExtensions {
  const foundFirst = [found];
  let last = first;
  return () => {
    const known = foundFirst.pop();
    if (known !== undefined) return known;
    try {
      last = choice();
    } catch (error) {
      if (!BonsaiError.is(error)) throw error;
      host.onNotice({ level: "warning", code: error.code, message: `${error.message} ${error.hint}` });
    }
    return chosenExtensions(last);
  };
}

/** Everything else is read of the host itself, when it is asked for. */
function withNotices(host: ExtensionHost, onNotice: ExtensionHost["onNotice"]): ExtensionHost {
  return Object.create(host, { onNotice: { value: onNotice, enumerable: true } }) as ExtensionHost;
}

/** Extensions that come with Bonsai are added by name, not by path. */
async function meantName(path: string): Promise<string> {
  const { firstPartyExtensions } = await import("./first-party.ts");
  const names = firstPartyExtensions.map(({ name }) => name);
  const meant = existsSync(path) ? undefined : nearestWord(basename(path), names);
  return meant === undefined
    ? ""
    : `${meant} comes with Bonsai: run \`bonsai extension add ${meant}\` once, without -e. `;
}

function notFound({ path, message, hint }: FoundExtensions["problems"][number], meant: string): BonsaiError {
  return new BonsaiError({
    /** `-e` names a path that is missing or is no extension. */
    code: "extension_not_found",
    message: message.includes(path) ? message : `${path}: ${message}`,
    hint: `${meant}${hint}`,
  });
}

let notify: ExtensionHost["onNotice"] | undefined;
/** An error in a timer that returns is one notice. */
const notified = new Set<string>();

/**
 * An error in a timer of an extension, or in a promise that it does not wait for, is a notice, and the work goes on. Any
 * other ends the process, as it would without this.
 */
function surviveStrayErrors(onNotice: ExtensionHost["onNotice"]): void {
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
  // Whoever else listens decides.
  if (process.listenerCount("uncaughtException") > 1) return;
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${printableLines(stack).join("\n")}\n`);
  process.exit(ExitCode.failed);
}

/**
 * Standard output belongs to the answer, or to lines of JSON: what extensions print, with `console` or by themselves,
 * goes to standard error.
 */
function keepOutputApart(): void {
  globalThis.console = new Console(process.stderr, process.stderr);
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** What extensions import by name and get from the command itself: there may be no `node_modules` beside them. */
export function virtualModules(): VirtualModules {
  return {
    ...piModules(),
    ...hostModules(),
    "@bonsai-agent/transcripts": () => import("@bonsai-agent/transcripts"),
  };
}
