// Says in the page what went wrong with a passkey; allauth's scripts say it to the console alone.
document.addEventListener('allauth.error', function (event) {
  event.preventDefault()
  const name = event.detail.exception && event.detail.exception.name
  const text = name === 'NotAllowedError'
    ? 'No passkey was used. Try again, or take another way.'
    : name === 'InvalidStateError'
      ? 'This device holds a passkey for your account already.'
      : 'The passkey could not be used here. Passkeys work at the address this service is known by, over https or on localhost.'
  let note = document.getElementById('passkey-note')
  if (!note) {
    note = document.createElement('p')
    note.id = 'passkey-note'
    note.className = 'note'
    note.setAttribute('role', 'alert')
    const heading = document.querySelector('main h1')
    heading.after(note)
  }
  note.textContent = text
})
// Without script a passkey's button could do nothing, so it is shown only here.
for (const control of document.querySelectorAll('[data-needs-script]')) control.hidden = false
