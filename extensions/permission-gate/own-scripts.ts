import { readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { ShellWord } from "./shell-line.ts";

/** Folders that hold code of others. */
const FOREIGN = /(?:^|\/)(?:node_modules|vendor|target|\.[^/]+)(?:\/|$)/;
const MAKEFILES = ["GNUmakefile", "makefile", "Makefile"];
const INTERPRETERS = /^(?:sh|bash|node|tsx|python3?|ruby|perl|php)$/;
/** Names of scripts that pnpm and yarn also run without `run`. */
const SHORT_SCRIPTS = /^(?:test|start|build|lint|typecheck|check|format|dev|docs|bench|ci|[\w-]+:[\w:-]+)$/;
/** Options that name no code to run. */
const PLAIN_OPTION =
  /^(?:-[vqsit]|--?(?:run|coverage|bail|verbose|silent|quiet|watch|no-\w+|runInBand|list|help|version|fix|check|dry-run|json)(?:=\w*)?)$/;
const NAME_OPTION = /^(?:-t|-g|--grep|--testNamePattern)$/;

const NOT_LISTED = "it is not on the list of read-only programs";
const WITH_ARGUMENTS = "the arguments of the script are not plain options or files of the project";

interface Project {
  /** The project's folder. */
  root: string;
  /** When the session began, in ms. */
  since: number;
  /** Files that tools changed in this session, absolute. */
  edited: ReadonlySet<string>;
}

/** The project's own scripts, and whether they changed since the session began. */
export class OwnScripts {
  readonly #root: string;
  readonly #since: number;
  readonly #edited: ReadonlySet<string>;

  constructor({ root, since, edited }: Project) {
    this.#root = realPath(root) ?? root;
    this.#since = since;
    this.#edited = edited;
  }

  /** Returns the folder that `cd PATH` enters; undefined if it is outside of the project. */
  enter(path: string, folder: string): string | undefined {
    const real = realPath(resolve(folder, path.replace(/^~(?=$|\/)/, homedir())));
    return real !== undefined && this.#isInside(real) && statSync(real).isDirectory() ? real : undefined;
  }

  /** Returns why a command needs a question; undefined if it runs an unchanged script of the project. */
  objection(words: readonly ShellWord[], folder: string): string | undefined {
    const [program = "", ...args] = words.map(({ text }) => text);
    // In a home folder, everything would be the project's.
    if (words.some(({ isPattern }) => isPattern) || `${homedir()}${sep}`.startsWith(`${this.#root}${sep}`))
      return NOT_LISTED;
    if (/^(?:npm|pnpm|yarn|bun)$/.test(program)) return this.#packageScript(program, args, folder);
    if (program === "make") return this.#makeTargets(args, folder);
    if (program.includes("/")) return this.#file(program, args, folder);
    const [script = "", ...rest] = args;
    return INTERPRETERS.test(program) && script !== "" ? this.#file(script, rest, folder) : NOT_LISTED;
  }

  /** Returns why even a reading `git` needs a question: its configuration can name programs to run. */
  gitObjection(): string | undefined {
    const changed = [...this.#edited].find((file) => dirname(file).split(sep).includes(".git"));
    return changed && this.#changeOf(changed);
  }

  #packageScript(program: string, args: readonly string[], folder: string): string | undefined {
    const [verb = "", ...others] = args.filter((arg) => !/^(?:-s|--silent|--if-present|--)$/.test(arg));
    const isRun = verb === "run" || (verb === "run-script" && program === "npm");
    const [name = "", ...rest] = isRun ? others : [verb === "t" ? "test" : verb, ...others];
    const file = this.#packageFile(folder);
    const scripts = file === undefined ? {} : scriptsOf(file);
    const isShort =
      program === "npm" ? /^(?:test|start|stop|restart)$/ : program === "bun" ? /^test$/ : SHORT_SCRIPTS;
    if (file === undefined || !Object.hasOwn(scripts, name) || !(isRun || isShort.test(name)))
      return NOT_LISTED;
    if (!this.#arePlain(rest, folder)) return WITH_ARGUMENTS;
    return this.#changeOf(file);
  }

  #makeTargets(args: readonly string[], folder: string): string | undefined {
    const file = MAKEFILES.map((name) => join(folder, name)).find(isFile);
    const makefile = file === undefined ? "" : readFileSync(file, "utf8");
    const isTarget = (arg: string) =>
      /^\w[\w.-]*$/.test(arg) &&
      new RegExp(
        `^(?:[^\\s#:=][^#:=\\n]*[ \\t])?${arg.replaceAll(".", "\\.")}(?:[ \\t][^#:=\\n]*)?:(?!=)`,
        "m",
      ).test(makefile);
    if (file === undefined || !args.every((arg) => /^-(?:[skBn]+|j\d*)$/.test(arg) || isTarget(arg)))
      return NOT_LISTED;
    return this.#changeOf(file);
  }

  #file(path: string, args: readonly string[], folder: string): string | undefined {
    const real = path.startsWith("-") ? undefined : realPath(resolve(folder, path));
    if (real === undefined || !isFile(real) || !this.#isInside(real)) return NOT_LISTED;
    if (FOREIGN.test(relative(this.#root, real).replaceAll("\\", "/"))) return NOT_LISTED;
    if (!this.#arePlain(args, folder)) return WITH_ARGUMENTS;
    return this.#changeOf(real);
  }

  /** A word that is no file may be a command of the script, as in `./manage.py flush`. */
  #arePlain(args: readonly string[], folder: string): boolean {
    return args.every(
      (arg, at) =>
        NAME_OPTION.test(args[at - 1] ?? "") ||
        NAME_OPTION.test(arg) ||
        PLAIN_OPTION.test(arg) ||
        (!arg.startsWith("-") &&
          (/^(?![/~]|.*\.\.).*\.(?:test|spec)\.\w+$/.test(arg) ||
            this.#isInside(realPath(resolve(folder, arg)) ?? ""))),
    );
  }

  /** The reason of a file that changed in this session. Its time makes "always" hold until the next change only. */
  #changeOf(file: string): string | undefined {
    const { ctime, ctimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    if (!this.#edited.has(file) && ctimeMs <= this.#since) return undefined;
    return `${relative(this.#root, file)} changed in this session (${ctime?.toISOString() ?? ""})`;
  }

  #isInside(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}${sep}`);
  }

  /** The nearest package.json upwards, within the project. */
  #packageFile(folder: string): string | undefined {
    for (let at = folder; this.#isInside(at); at = dirname(at)) {
      const file = join(at, "package.json");
      if (isFile(file)) return file;
    }
    return undefined;
  }
}

function scriptsOf(file: string): Readonly<Record<string, string>> {
  try {
    const { scripts } = JSON.parse(readFileSync(file, "utf8")) as { scripts?: Record<string, string> };
    return scripts ?? {};
  } catch {
    return {};
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
