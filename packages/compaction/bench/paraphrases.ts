import type { FailedCommand } from "../src/details.ts";
import type { Outcome } from "../src/record/outcomes.ts";

// Writes facts of the record as a model would: shorter, in another order, with other words between, in the user's language.

/** Phrases of one language around a fact. */
export interface Phrases {
  fails: string;
  passes: string;
  done: string;
  planned: string;
  isOpen: string;
  since: string;
  nothingOpen: string;
  /** A sentence without any fact. */
  filler: string;
}

const PHRASES: Record<string, Phrases> = {
  en: {
    fails: "still fails with",
    passes: "passes now",
    done: "was run, the result cannot be taken back",
    planned: "run next, after the user agrees",
    isOpen: "is still to be done",
    since: "seen this afternoon",
    nothingOpen: "Nothing is open at the moment.",
    filler: "The session went on without surprises here.",
  },
  de: {
    fails: "schlägt weiter fehl mit",
    passes: "läuft jetzt durch",
    done: "wurde ausgeführt und lässt sich nicht zurücknehmen",
    planned: "als Nächstes ausführen, sobald der Benutzer zustimmt",
    isOpen: "ist noch zu erledigen",
    since: "am Nachmittag gesehen",
    nothingOpen: "Zurzeit ist nichts offen.",
    filler: "Hier verlief die Arbeit ohne Überraschungen.",
  },
  es: {
    fails: "sigue fallando con",
    passes: "ya pasa",
    done: "se ejecutó y no se puede deshacer",
    planned: "ejecutar después, cuando el usuario acepte",
    isOpen: "queda pendiente",
    since: "visto esta tarde",
    nothingOpen: "No queda nada pendiente.",
    filler: "Aquí el trabajo siguió sin sorpresas.",
  },
  fr: {
    fails: "échoue toujours avec",
    passes: "passe maintenant",
    done: "a été exécuté, sans retour possible",
    planned: "à exécuter ensuite, avec l'accord de l'utilisateur",
    isOpen: "reste à faire",
    since: "vu cet après-midi",
    nothingOpen: "Rien n'est en suspens.",
    filler: "Le travail a continué ici sans surprise.",
  },
  pt: {
    fails: "continua a falhar com",
    passes: "já passa",
    done: "foi executado e não tem volta",
    planned: "executar a seguir, se o usuário concordar",
    isOpen: "ainda falta fazer",
    since: "visto à tarde",
    nothingOpen: "Não há nada em aberto.",
    filler: "Aqui o trabalho seguiu sem surpresas.",
  },
  ja: {
    fails: "はまだ失敗する:",
    passes: "は通るようになった",
    done: "を実行済み、元に戻せない",
    planned: "はユーザーの同意後に実行する予定",
    isOpen: "はまだ残っている",
    since: "午後に確認",
    nothingOpen: "未完了の作業はない。",
    filler: "ここでは作業が順調に進んだ。",
  },
  zh: {
    fails: "仍然失败:",
    passes: "现在已通过",
    done: "已执行,无法撤销",
    planned: "等用户同意后再执行",
    isOpen: "还没有做",
    since: "下午看到",
    nothingOpen: "目前没有未完成的工作。",
    filler: "这里的工作进展顺利。",
  },
  mixed: {
    fails: "아직 실패함:",
    passes: "이제 통과함",
    done: "실행했고 되돌릴 수 없음",
    planned: "사용자가 동의하면 다음에 실행",
    isOpen: "아직 남아 있음",
    since: "오후에 확인",
    nothingOpen: "남은 작업이 없다.",
    filler: "여기서는 작업이 순조로웠다.",
  },
};

export function phrasesOf(language: string): Phrases {
  return PHRASES[language.slice(0, 2)] ?? PHRASES.mixed!;
}

/** Ways to write a fact, from a copy to the annotator's own sentence. */
export const STYLES = ["copied", "shortened", "spread", "own words"] as const;
export type Style = (typeof STYLES)[number];

/** The lines of an item that states a fact. The second line, if there is one, continues the first. */
export function stated(fact: Outcome, style: Style, own: string | undefined, phrases: Phrases): string[] {
  if (style === "own words") return own === undefined ? stated(fact, "shortened", own, phrases) : [own];
  if ("text" in fact) return [todoText(fact.text, style, phrases)];
  if ("times" in fact) return actLines(fact, style, phrases);
  return failureLines(fact, style, phrases);
}

function todoText(text: string, style: Style, { isOpen, since }: Phrases): string {
  if (style === "copied") return text;
  const words = text.split(" ");
  if (style === "shortened")
    return words.filter((word, at) => at === 0 || word.length > 3 || !/^[a-z]+$/i.test(word)).join(" ");
  const half = Math.ceil(words.length / 2);
  return `${words.slice(half).join(" ")} (${since}), ${words.slice(0, half).join(" ")}: ${isOpen}`;
}

function actLines(
  { command, result }: { command: string; result?: string | undefined },
  style: Style,
  phrases: Phrases,
): string[] {
  if (style === "copied") return [`\`${command}\`${result === undefined ? "" : `: ${result}`}`];
  const short = withoutFlags(command);
  if (style === "shortened")
    return [`${short} ${phrases.done}${result === undefined ? "" : ` (${headOf(result)})`}`];
  return [
    `${reversed(short)} ${phrases.done}, ${phrases.since}`,
    ...(result === undefined ? [] : [headOf(result)]),
  ];
}

function failureLines({ key, line }: FailedCommand, style: Style, phrases: Phrases): string[] {
  if (style === "copied") return [`\`${key}\` ${phrases.fails} ${line}`];
  const short = withoutFlags(key.split(" && ").at(-1)!);
  if (style === "shortened") return [`${headOf(line)} (${short})`];
  return [`${short}, ${phrases.since}, ${phrases.fails}`, tailOf(line)];
}

/** The command without options and runners, with short paths. */
function withoutFlags(command: string): string {
  const words = command.replace(/^(?:npx|python3? -m|docker exec \S+|php|\.\/) ?/, "").split(" ");
  return words
    .filter((word) => !/^-{1,2}[a-z]/i.test(word))
    .map(shortPath)
    .join(" ");
}

/** A path's last folder and file. */
export function shortPath(word: string): string {
  const parts = word.split("/");
  return parts.length > 2 && !word.includes("://") ? parts.slice(-2).join("/") : word;
}

/** Puts the arguments before the program: another order of the same words. */
function reversed(command: string): string {
  const [program, ...others] = command.split(" ");
  return [...others, `(${program})`].join(" ");
}

const MIN_QUOTED_CHARS = 60;

/** The beginning of a line, up to a word's end. */
function headOf(line: string): string {
  const text = shortPaths(line);
  if (text.length <= MIN_QUOTED_CHARS) return text;
  const end = text.indexOf(" ", Math.max(MIN_QUOTED_CHARS, text.length * 0.6));
  return end < 0 ? text : text.slice(0, end);
}

/** The end of a line, from a word's beginning. */
function tailOf(line: string): string {
  const text = shortPaths(line);
  if (text.length <= MIN_QUOTED_CHARS) return text;
  const begin = text.lastIndexOf(" ", Math.min(text.length - MIN_QUOTED_CHARS, text.length * 0.4));
  return begin < 0 ? text : text.slice(begin + 1);
}

function shortPaths(line: string): string {
  return line.split(" ").map(shortPath).join(" ");
}
