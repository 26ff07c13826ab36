! Fortran's integer for a communicator, at the door for it.
program world
    use, intrinsic :: iso_c_binding
    implicit none
    include 'mpif.h'
    interface
        integer(c_int) function dds_comm_mpi_f(fcomm, comm) bind(c)
            import :: c_int, c_ptr
            integer(c_int), value :: fcomm
            type(c_ptr), intent(out) :: comm
        end function
        integer(c_int) function dds_comm_size(comm, ranks) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int), intent(out) :: ranks
        end function
        integer(c_int) function dds_comm_rank(comm, rank) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int), intent(out) :: rank
        end function
        integer(c_int) function dds_comm_barrier(comm) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
        end function
        integer(c_int) function dds_comm_free(comm) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), intent(inout) :: comm
        end function
    end interface
    integer(c_int), parameter :: err_arg = 1
    type(c_ptr) :: comm
    integer :: ierror, me, ranks, half
    integer(c_int) :: mine, theirs

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call must(dds_comm_mpi_f(MPI_COMM_WORLD, comm) == 0)
    call must(dds_comm_size(comm, theirs) == 0 .and. theirs == ranks)
    call must(dds_comm_rank(comm, mine) == 0 .and. mine == me)
    call must(dds_comm_barrier(comm) == 0)
    call must(dds_comm_free(comm) == 0)

    ! One that was made, and reversed.
    call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), -me, half, ierror)
    call must(dds_comm_mpi_f(half, comm) == 0)
    call MPI_Comm_size(half, ranks, ierror)
    call MPI_Comm_rank(half, me, ierror)
    call must(dds_comm_size(comm, theirs) == 0 .and. theirs == ranks)
    call must(dds_comm_rank(comm, mine) == 0 .and. mine == me)
    call MPI_Comm_free(half, ierror)
    call must(dds_comm_barrier(comm) == 0)
    call must(dds_comm_free(comm) == 0)

    call must(dds_comm_mpi_f(MPI_COMM_NULL, comm) == err_arg)
    call MPI_Finalize(ierror)

contains
    subroutine must(right)
        logical, intent(in) :: right
        if (.not. right) error stop
    end subroutine
end program
