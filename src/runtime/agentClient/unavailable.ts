import { GuestUnavailable } from "../Guest.ts"

export const unavailable = (message: string, fault: GuestUnavailable["fault"]): GuestUnavailable =>
  new GuestUnavailable({ message, fault })
