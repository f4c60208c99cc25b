/**
 * Decides which processes of a cluster own actors: the largest set of processes that all reach each other. A process outside owns none, because
 * the others could not send messages to its actors. Every process computes the same set from the same rows.
 */
import type { LivingProcess } from "../store/leaseStatements.ts"

type Known = Pick<LivingProcess, "id" | "machineId" | "reached">

/** A version that does not report whom it reaches counts as reaching everyone. */
const reaches = (from: Known, to: Known): boolean => from.reached === null || from.reached.includes(to.id)

export const reachEachOther = (one: Known, other: Known): boolean => reaches(one, other) && reaches(other, one)

/** A process that lists itself as reached reaches hosts. */
const hostReachers = (set: ReadonlyArray<Known>): number => set.filter((one) => reaches(one, one)).length

/** Between two sets of equal size: prefers the set that reaches hosts, then the set with the older processes. */
const better = <A extends Known>(one: ReadonlyArray<A>, other: ReadonlyArray<A>): ReadonlyArray<A> => {
  if (one.length !== other.length) return one.length > other.length ? one : other
  const [ofOne, ofOther] = [hostReachers(one), hostReachers(other)]
  if (ofOne !== ofOther) return ofOne > ofOther ? one : other
  const at = one.findIndex(({ machineId }, index) => machineId !== other[index]!.machineId)
  return at === -1 || one[at]!.machineId < other[at]!.machineId ? one : other
}

const largest = <A extends Known>(among: ReadonlyArray<A>): ReadonlyArray<A> => {
  let apart: A | null = null
  let most = 0
  for (const one of among) {
    const missing = among.filter((other) => other !== one && !reachEachOther(one, other)).length
    if (missing > most) [apart, most] = [one, missing]
  }
  if (apart === null) return among
  const withIt = among.filter((one) => one === apart || reachEachOther(one, apart))
  const withoutIt = among.filter((one) => one !== apart)
  return better(largest(withIt), largest(withoutIt))
}

/** Empty only if there is no process. */
export const mutualReach = <A extends Known>(living: ReadonlyArray<A>): ReadonlyArray<A> =>
  largest(living.toSorted((one, other) => one.machineId - other.machineId))
