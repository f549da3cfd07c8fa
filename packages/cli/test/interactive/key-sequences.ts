const named: Readonly<Record<string, string>> = {
  enter: "\r",
  esc: "\x1b",
  escape: "\x1b",
  tab: "\t",
  "shift+tab": "\x1b[Z",
  space: " ",
  backspace: "\x7f",
  delete: "\x1b[3~",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  home: "\x1b[H",
  end: "\x1b[F",
  pageUp: "\x1b[5~",
  pageDown: "\x1b[6~",
  "shift+enter": "\x1b[13;2u",
  "ctrl+enter": "\x1b[13;5u",
  "alt+enter": "\x1b\r",
  "alt+backspace": "\x1b\x7f",
};

const arrows: Readonly<Record<string, string>> = {
  up: "A",
  down: "B",
  right: "C",
  left: "D",
  home: "H",
  end: "F",
};
const modifierNumber: Readonly<Record<string, number>> = { shift: 2, alt: 3, ctrl: 5 };

/** What a terminal sends for a key, in the names that the keys have in the interactive mode: `ctrl+c`, `pageUp`, `a`. */
export function keySequence(key: string): string {
  const sequence = named[key] ?? modified(key) ?? (Array.from(key).length === 1 ? key : undefined);
  if (sequence === undefined) throw new Error(`No sequence is known for the key ${key}.`);
  return sequence;
}

function modified(key: string): string | undefined {
  const [, modifier, base] = /^(shift|alt|ctrl)\+(.+)$/.exec(key) ?? [];
  if (modifier === undefined || base === undefined) return undefined;
  if (arrows[base] !== undefined) return `\x1b[1;${modifierNumber[modifier]}${arrows[base]}`;
  if (modifier === "ctrl" && /^[a-z\]\\_]$/.test(base))
    return String.fromCharCode(base.toUpperCase().charCodeAt(0) & 31);
  if (modifier === "alt" && base.length === 1) return `\x1b${base}`;
  if (modifier === "shift" && base.length === 1) return base.toUpperCase();
  return undefined;
}
