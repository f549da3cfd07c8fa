type Detail = Record<string, unknown>;

/** Fields that come in pieces; the others are the same in each piece, or come once. */
const pieced = ["text", "summary", "data"];

/**
 * OpenRouter's record of a model's thinking, whoever serves it: to be given back as it came.
 * Owner of the pieces put together.
 */
export class ReasoningDetails {
  readonly all: Detail[] = [];

  /** Adds pieces; gives back what of them can be shown. */
  take(pieces: unknown): string {
    if (!Array.isArray(pieces)) return "";
    return pieces.map((piece) => (isDetail(piece) ? this.#add(piece) : "")).join("");
  }

  #add(piece: Detail): string {
    const last = this.all.at(-1);
    const goesOn = last !== undefined && last.type === piece.type && (last.index ?? 0) === (piece.index ?? 0);
    if (goesOn && piece.type !== "reasoning.encrypted") merge(last, piece);
    else this.all.push({ ...piece });
    return [piece.text, piece.summary].filter((text) => typeof text === "string").join("");
  }
}

function merge(into: Detail, piece: Detail): void {
  for (const [field, value] of Object.entries(piece)) {
    const before = into[field];
    if (pieced.includes(field) && typeof before === "string" && typeof value === "string") {
      into[field] = before + value;
    } else if (value !== null && value !== undefined) into[field] = value;
  }
}

function isDetail(piece: unknown): piece is Detail {
  return typeof piece === "object" && piece !== null;
}
