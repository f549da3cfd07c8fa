import type { Line } from "../store/line-reader.ts";
import type { EntryHead } from "./entry-head.ts";

/** A damaged file can have any number of details. */
const MAX_DETAILS = 1000;

/** Numbers for the types, roles and custom types that heads of entries name. */
export class HeadNames {
  readonly #types: string[] = [];
  readonly #typeNumbers = new Map<string, number>();
  /** Roles and custom types, by their number. */
  readonly #details: string[] = [""];
  readonly #detailNumbers = new Map<string, number>();
  /** Most entries have the type of the one before. */
  #lastType: { bytes: Buffer; number: number } | undefined;

  type(number: number): string {
    return this.#types[number]!;
  }

  /** The role or custom type with this number; undefined for 0. */
  detail(number: number): string | undefined {
    return this.#details[number] || undefined;
  }

  numberOfType(type: string): number | undefined {
    return this.#typeNumbers.get(type);
  }

  /** The number of the head's type. */
  typeNumber(head: EntryHead): number {
    const last = this.#lastType;
    if (last !== undefined && head.hasType(last.bytes)) return last.number;
    const type = head.type;
    const number = this.#typeNumbers.get(type) ?? this.#types.push(type) - 1;
    this.#typeNumbers.set(type, number);
    this.#lastType = { bytes: Buffer.from(type), number };
    return number;
  }

  /** The number of the head's role or custom type; 0 for none, and for names after the first `MAX_DETAILS`. */
  detailNumber(head: EntryHead, line: Line): number {
    const detail = head.detail(line);
    if (detail === undefined) return 0;
    const known = this.#detailNumbers.get(detail);
    if (known !== undefined || this.#details.length === MAX_DETAILS) return known ?? 0;
    this.#detailNumbers.set(detail, this.#details.length);
    return this.#details.push(detail) - 1;
  }
}
