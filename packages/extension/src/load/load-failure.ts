import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { closestNames } from "@bonsai-agent/messages/host";
import type { SourcePlace } from "./extension-files.ts";
import { dropGeneration, type Generation, tidyError, type UnresolvedImport } from "./generation.ts";
import { SourceFailure } from "./jiti-import.ts";
import {
  codeFrame,
  placeAbove,
  placeOfImport,
  placeText,
  placeThrown,
  readableError,
} from "./thrown-error.ts";
import { INSTEAD, type ModuleExports, virtualExports } from "./virtual-modules.ts";

export function loadFailure(generation: Generation, thrown: unknown): BonsaiError {
  const error = readableError(thrown);
  const failure = described(generation, error);
  dropGeneration(generation);
  tidyStack(error);
  return failure;
}

function described(generation: Generation, error: Error): BonsaiError {
  const { unresolved } = generation;
  if (unresolved !== undefined && unresolved.error === error) return moduleMissing(generation, unresolved);
  const missing = missingExport(error);
  if (missing !== undefined) return exportMissing(generation, missing, error);
  const place = error instanceof SourceFailure ? error : (placeAbove(error) ?? placeThrown(error));
  return broken(generation, place, error);
}

interface MissingExport {
  name: string;
  specifier: string;
  /** The import that asks for it. */
  place: SourcePlace | undefined;
}

/** An import of a name that its module does not export. Node finds it before it runs any file. */
export function missingExport(error: unknown): MissingExport | undefined {
  if (!(error instanceof SyntaxError)) return undefined;
  const [, specifier, name] =
    /^The requested module '(.*)' does not provide an export named '(.*)'$/.exec(error.message) ?? [];
  if (specifier !== undefined && name !== undefined) return { specifier, name, place: placeAbove(error) };
  const [, named, from] =
    /^Named export '(.*)' not found\. The requested module '(.*)' is a CommonJS module/.exec(error.message) ??
    [];
  return named === undefined || from === undefined
    ? undefined
    : { specifier: from, name: named, place: placeAbove(error) };
}

function exportMissing({ entry, modules }: Generation, missing: MissingExport, cause: unknown): BonsaiError {
  const { name, specifier } = missing;
  const path = missing.place?.path ?? entry;
  const place = placeOfImport(path, specifier, name) ?? missing.place ?? { path, line: 1 };
  const host = virtualExports(modules, specifier);
  return new BonsaiError({
    code: "extension_export_missing",
    message: `${placeText(place)}: ${specifier} has no export named ${name}.${codeFrame(place)}`,
    hint:
      host === undefined
        ? `Export ${name} there, or fix the import.`
        : (insteadOf(host, name) ?? `${specifier} exports ${likeNames(Object.keys(host), name)}.`),
    cause,
  });
}

/** A host module's advice about a name that it does not export. */
function insteadOf(host: ModuleExports, name: string): string | undefined {
  const sentences = Reflect.get(host, INSTEAD) as Readonly<Record<string, string>> | undefined;
  return sentences !== undefined && Object.hasOwn(sentences, name) ? sentences[name] : undefined;
}

function moduleMissing({ entry, modules }: Generation, unresolved: UnresolvedImport): BonsaiError {
  const { specifier, importer, error } = unresolved;
  const path = importer || entry;
  const place = placeOfImport(path, specifier) ?? { path, line: 1 };
  const reason = packageReason(error);
  return new BonsaiError({
    code: "extension_module_missing",
    message: `${placeText(place)}: cannot ${reason === undefined ? `find ${specifier}` : `import ${specifier}: ${reason}`}.${codeFrame(place)}`,
    hint:
      reason === undefined
        ? missingModuleHint(specifier, path, Object.keys(modules))
        : "Fix the import, or that package.",
    cause: error,
  });
}

/** Node's reason why an installed package does not offer the import. */
function packageReason(error: unknown): string | undefined {
  const { code = "", message = "" } = (error ?? {}) as NodeJS.ErrnoException;
  if (!/^ERR_(?:PACKAGE_|INVALID_PACKAGE_)/.test(code)) return undefined;
  return message.replace(/[.\s]+$/, "").replaceAll(/\s+/g, " ");
}

function missingModuleHint(specifier: string, importer: string, hostNames: readonly string[]): string {
  if (/^(\.|\/|file:)/.test(specifier)) return "Create that file, or fix the path in the import.";
  if (/^[a-z]+:/.test(specifier)) return "Fix the import, or that package.";
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
  const related = hostNames.filter((host) => host === name || host.startsWith(`${name}/`));
  if (related.length > 0) return `Extensions can only import ${related.join(", ")} from that package.`;
  return `Run \`npm install ${name}\` in ${packageRoot(importer)}.`;
}

/** The folder of a file's package.json, else the file's own. */
function packageRoot(path: string): string {
  for (let folder = dirname(path); dirname(folder) !== folder; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  return dirname(path);
}

function broken({ entry }: Generation, place: SourcePlace | undefined, error: Error): BonsaiError {
  const where = place === undefined ? entry : placeText(place);
  return new BonsaiError({
    code: "extension_broken",
    message: `${where}: ${error.message || error.name}${place === undefined ? "" : codeFrame(place)}`,
    hint: "Fix the extension. Then run /reload or restart bonsai.",
    cause: error,
  });
}

/** Removes generation numbers and converted lines from a stack. */
function tidyStack(error: Error): void {
  tidyError(error);
  if (error.stack !== undefined)
    Reflect.set(error, "stack", error.stack.replace(/^file:[\s\S]*?\n(?=SyntaxError)/, ""));
}

/** Maximum number of names in a hint. */
const MAX_NAMES = 8;

/** The names of a module, or the ones closest to the wanted name. */
function likeNames(names: readonly string[], wanted: string): string {
  if (names.length <= MAX_NAMES) return names.toSorted().join(", ");
  const near = closestNames(wanted, names, MAX_NAMES);
  const shown = near.length === 0 ? names.slice(0, MAX_NAMES) : near;
  return `${shown.join(", ")} and ${names.length - shown.length} more`;
}
