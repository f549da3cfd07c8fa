import type { ShellWord } from "./shell-word.ts";

/** What a program is given to run: a line of shell, or a command in words. */
export type RunBy = { text: string } | { words: readonly ShellWord[] };

interface Wrapper {
  /** Options that take the next word. */
  valued?: string;
  /** Words between the options and the command. */
  operands?: number;
  /** An option whose next word is a line of shell, in the place of words. */
  line?: RegExp;
  /** An option by which nothing is run. */
  instead?: RegExp;
}

/** Programs whose last words are a command. */
const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: { valued: "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir" },
  doas: { valued: "-u -C" },
  env: { valued: "-u -C --unset --chdir", line: /^(?:-S|--split-string)$/ },
  command: { instead: /^-[pvV]*[vV]/ },
  builtin: {},
  exec: { valued: "-a" },
  nohup: {},
  setsid: {},
  time: { valued: "-f -o" },
  nice: { valued: "-n" },
  ionice: { valued: "-c -n -p" },
  stdbuf: { valued: "-i -o -e" },
  timeout: { valued: "-s -k --signal --kill-after", operands: 1 },
  xargs: { valued: "-I -i -n -P -L -d -E -a -s --max-args --max-procs --delimiter --arg-file --replace" },
  parallel: { valued: "-j --jobs" },
  watch: { valued: "-n --interval" },
  chroot: { operands: 1 },
  busybox: {},
  flock: { valued: "-w -E", operands: 1 },
  strace: { valued: "-e -o -p -s" },
  caffeinate: { valued: "-t -w" },
  chronic: {},
  toybox: {},
  fakeroot: {},
  unbuffer: {},
  unshare: {},
  valgrind: {},
  ltrace: { valued: "-e -o -p -s" },
  taskset: { operands: 1 },
  chrt: { operands: 1 },
  gosu: { operands: 1 },
  "su-exec": { operands: 1 },
  "systemd-run": { valued: "-p -u -E -t" },
};
const SHELLS = new Set("bash sh zsh dash ksh ash fish".split(" "));

export function isShell(name: string): boolean {
  return SHELLS.has(name);
}

interface Program {
  name: string;
  args: readonly ShellWord[];
}

/** The commands that stand in a program's own words. */
export function runBy({ name, args }: Program): RunBy[] {
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
  if (wrapper !== undefined) return wrapped(args, wrapper);
  if (isShell(name) || name === "su" || name === "script") return textOf(args, /^-[a-zA-Z]*c$|^--command$/);
  if (name === "eval") return [{ text: args.map(({ text }) => text).join(" ") }];
  if (name === "alias") return args.map(({ text }) => ({ text: text.slice(text.indexOf("=") + 1) }));
  if (name === "trap") return args.slice(0, 1);
  if (name === "ssh") return overSsh(args);
  if (name === "find" || name === "fd") return executed(args);
  return [];
}

function wrapped(args: readonly ShellWord[], { valued = "", operands = 0, line, instead }: Wrapper): RunBy[] {
  if (instead?.test(args[0]?.text ?? "")) return [];
  const takesNext = new Set(valued.split(" "));
  const lines = line === undefined ? [] : textOf(args, line);
  if (lines.length > 0) return lines;
  let at = 0;
  while (at < args.length && args[at]!.text.startsWith("-")) at += takesNext.has(args[at]!.text) ? 2 : 1;
  const words = args.slice(at + operands);
  return words.length === 0 ? [] : [{ words }];
}

/** The word behind an option, as a line of shell. */
function textOf(args: readonly ShellWord[], option: RegExp): RunBy[] {
  const at = args.findIndex(({ text }) => option.test(text));
  const line = at === -1 ? undefined : args.slice(at + 1).find(({ text }) => !/^[-+]/.test(text));
  return line === undefined ? [] : [{ text: line.text }];
}

function overSsh(args: readonly ShellWord[]): RunBy[] {
  let at = 0;
  while (args[at]?.text.startsWith("-")) at += /^-[bcDEeFIiJLlmOopQRSWw]$/.test(args[at]!.text) ? 2 : 1;
  const line = args.slice(at + 1).map(({ text }) => text);
  return line.length === 0 ? [] : [{ text: line.join(" ") }];
}

function executed(args: readonly ShellWord[]): RunBy[] {
  const isStart = ({ text }: ShellWord) => /^-(?:exec|execdir|ok|okdir|x|X)$|^--exec(?:-batch)?$/.test(text);
  return args.flatMap((arg, at) => {
    if (!isStart(arg)) return [];
    const words = args.slice(at + 1);
    const end = words.findIndex(({ text }) => text === ";" || text === "+");
    return [{ words: end === -1 ? words : words.slice(0, end) }];
  });
}
